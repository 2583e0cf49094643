// Neutral exchanges that hold the model to the base: which take part in a step, and their exact KL(base ‖ θ).
import type { TrainRequest } from '../../shared/contract/trainer.ts'
import type { Exchange } from '../../shared/domain/training.ts'
import { defaultTrainingConfig } from '../../shared/domain/training.ts'
import type {
  Adapter,
  AdapterGradients,
  BackwardRequest,
  EngineModel,
  YieldPoint,
} from '../engine/index.ts'
import { endingLoss } from './losses/ending.ts'
import { pickIndices, randomAt } from './random.ts'
import { mean } from './step.ts'
import type { PreparedItem } from './targets.ts'

export interface AnchorSettings {
  readonly count: number
  readonly weight: number
  /** Of where the replies end. */
  readonly endingWeight: number
}

/** Nothing but negatives only says where not to go: such a batch is held to the base even where the anchor is off. */
export function anchorSettings(
  config: TrainRequest['config'],
  training: readonly Pick<PreparedItem, 'item'>[],
): AnchorSettings {
  const { weightAnchor: weight, weightEnding: endingWeight, anchorsPerStep: count } = config
  if (weight > 0 && count > 0) return { count, weight, endingWeight }
  const onlyNegatives = training.every(({ item }) => item.sample.reward === -1)
  const { weightAnchor, weightEnding, anchorsPerStep } = defaultTrainingConfig
  return onlyNegatives
    ? { count: anchorsPerStep, weight: weightAnchor, endingWeight: weightEnding }
    : { count: 0, weight: 0, endingWeight: 0 }
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

export interface AnchorOptions {
  readonly model: EngineModel
  readonly adapter: Adapter
  readonly gradients: AdapterGradients
  readonly weight: number
  readonly base: BaseOfAnchors
  readonly yieldPoint: YieldPoint
}

/** What the base says about neutral exchanges; the same for every run. */
export interface BaseOfAnchors {
  /** Final hidden states at the reply positions, [R, C]. */
  hidden(exchange: Exchange, yieldPoint: YieldPoint): Promise<Float32Array>
  /** ℓ_base of one token at the reply positions, [R]. */
  logProbs(exchange: Exchange, id: number, yieldPoint: YieldPoint): Promise<Float32Array>
}

/** Both parts of one step: means over the exchanges before their weights (null without any), and their sum weighted. */
export async function anchorStep(
  chosen: readonly Exchange[],
  options: AnchorOptions & AnchorSettings & { readonly endId: number | null },
): Promise<{
  readonly kl: number | null
  readonly ending: number | null
  readonly weighted: number
}> {
  const { weight, endingWeight, endId } = options
  const kl = mean(await anchorBackward(chosen, options))
  const ending =
    endId === null || endingWeight === 0
      ? null
      : mean(await endingBackward(chosen, { ...options, weight: endingWeight, endId }))
  return { kl, ending, weighted: weight * (kl ?? 0) + endingWeight * (ending ?? 0) }
}

/** Adds the gradients of `weight` times the mean over the exchanges; gives the KL of each before the weight. */
async function anchorBackward(
  chosen: readonly Exchange[],
  options: AnchorOptions,
): Promise<number[]> {
  const { model, adapter, gradients, yieldPoint } = options
  const divergences: number[] = []
  for (const exchange of chosen) {
    const { kl } = await model.klBackward({
      ...exchangeTokens(exchange),
      temperature: 1,
      adapter,
      baseHidden: await options.base.hidden(exchange, yieldPoint),
      weight: options.weight / chosen.length,
      gradients,
      yieldPoint,
    })
    divergences.push(kl)
  }
  return divergences
}

/** The same for where the replies end; gives the KL of each reply's endings before the weight. */
async function endingBackward(
  chosen: readonly Exchange[],
  options: AnchorOptions & { readonly endId: number },
): Promise<number[]> {
  const { model, adapter, gradients, weight, base, endId, yieldPoint } = options
  const factor = weight / chosen.length
  const requests: BackwardRequest[] = []
  for (const exchange of chosen) {
    const baseLogProbs = await base.logProbs(exchange, endId, yieldPoint)
    requests.push({
      ...exchangeTokens(exchange),
      ...{ temperature: 1, adapter, gradients, yieldPoint },
      gatherIds: new Int32Array(exchange.responseIds.length).fill(endId), // [R, 1]
      loss: (logProbs) => {
        const { loss, gradient } = endingLoss(logProbs, baseLogProbs)
        return { loss: factor * loss, gradient: gradient.map((value) => factor * value) }
      },
    })
  }
  const results = await model.backwardAll(requests)
  return results.map(({ loss }) => loss / factor)
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
