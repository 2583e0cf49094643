// Neutral exchanges that hold the model to the base: which take part in a step, and their exact KL(base ‖ θ).
import type { TrainRequest } from '../../shared/contract/trainer.ts'
import type { Exchange } from '../../shared/domain/training.ts'
import { defaultTrainingConfig } from '../../shared/domain/training.ts'
import type { Adapter, AdapterGradients, EngineModel, YieldPoint } from '../engine/index.ts'
import { pickIndices, randomAt } from './random.ts'
import type { PreparedItem } from './targets.ts'

export interface AnchorSettings {
  readonly count: number
  readonly weight: number
}

/** Nothing but negatives only says where not to go: such a batch is held to the base even where the anchor is off. */
export function anchorSettings(
  config: TrainRequest['config'],
  training: readonly Pick<PreparedItem, 'item'>[],
): AnchorSettings {
  const { weightAnchor: weight, anchorsPerStep: count } = config
  if (weight > 0 && count > 0) return { count, weight }
  const onlyNegatives = training.every(({ item }) => item.sample.reward === -1)
  const { weightAnchor, anchorsPerStep } = defaultTrainingConfig
  return onlyNegatives ? { count: anchorsPerStep, weight: weightAnchor } : { count: 0, weight: 0 }
}

/** Follows the optimiser's count of updates, so that a resumed run draws the same ones. */
export function chooseAnchors(
  anchors: readonly Exchange[],
  options: {
    readonly count: number
    readonly seed: number
    readonly updates: number
    /** Longest sequence in tokens. */
    readonly limit: number
  },
): Exchange[] {
  const usable = anchors.filter((one) => {
    const isWhole = one.promptIds.length > 0 && one.responseIds.length > 0
    return isWhole && lengthOf(one) <= options.limit
  })
  const random = randomAt(options.seed, options.updates)
  const picked = pickIndices(random, { length: usable.length, count: options.count })
  return usable.filter((_, index) => picked.includes(index))
}

/** Adds the gradients of `weight` times the mean over the exchanges; gives the KL of each before the weight. */
export async function anchorBackward(
  chosen: readonly Exchange[],
  options: {
    readonly model: EngineModel
    readonly adapter: Adapter
    readonly gradients: AdapterGradients
    readonly weight: number
    readonly baseHidden: (exchange: Exchange, yieldPoint: YieldPoint) => Promise<Float32Array>
    readonly yieldPoint: YieldPoint
  },
): Promise<number[]> {
  const { model, adapter, gradients, yieldPoint } = options
  const divergences: number[] = []
  for (const exchange of chosen) {
    const { kl } = await model.klBackward({
      ...exchangeTokens(exchange),
      temperature: 1,
      adapter,
      baseHidden: await options.baseHidden(exchange, yieldPoint),
      weight: options.weight / chosen.length,
      gradients,
      yieldPoint,
    })
    divergences.push(kl)
  }
  return divergences
}

/** Prompt and reply as one sequence. */
export function exchangeTokens(exchange: Exchange): {
  readonly tokens: Int32Array
  readonly responseStart: number
} {
  const tokens = Int32Array.from([...exchange.promptIds, ...exchange.responseIds])
  return { tokens, responseStart: exchange.promptIds.length }
}

export function lengthOf(exchange: Exchange): number {
  return exchange.promptIds.length + exchange.responseIds.length
}
