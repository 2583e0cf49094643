// When the passes over demonstrations alone have done their work: two of many are set aside and tell; of few, their
// own loss must do.
import type { TrainingConfig } from '../../shared/domain/training.ts'
import type { Adapter, EngineModel, YieldPoint } from '../engine/index.ts'
import { pickIndices, randomAt } from './random.ts'
import { mean } from './step.ts'
import type { PreparedItem } from './targets.ts'

/** Demonstrations kept out of the updates to see when further passes stop helping, and how many it takes. */
const setAsideCount = 2
const setAsideFrom = 6

export const setAsideReason = 'set aside to see when further passes stop helping'

export function chooseHeldOut(
  prepared: readonly PreparedItem[],
  { seed, demonstrationPasses }: TrainingConfig,
): PreparedItem[] {
  const demonstrations = prepared.filter(({ item }) => item.demo)
  if (demonstrationPasses === 0 || demonstrations.length < setAsideFrom) return []
  const picked = pickIndices(randomAt(seed, demonstrations.length), {
    length: demonstrations.length,
    count: setAsideCount,
  })
  return demonstrations.filter((_, index) => picked.includes(index))
}

/** Nats a token: what is left is the choice between equally good words, and going on only sharpens the model. */
const learnedLoss = 0.05

/** A pass that takes less than this share off the loss is not worth its time. */
const leastFall = 0.02

/**
 * Whether few demonstrations, with none to set aside, are learned as well as passes can. `losses`: their mean loss
 * before each update so far, nats a token; the first `passes` of these were measured in ordinary passes, in which
 * rewards may have held it up, so that a small fall there says nothing.
 */
export function isLearned(losses: readonly (number | null)[], passes: number): boolean {
  const last = losses.at(-1) ?? null
  if (last === null) return false
  if (last < learnedLoss) return true
  const before = losses.at(-2) ?? null
  if (before === null || losses.length <= passes) return false
  return last > before * (1 - leastFall)
}

/** Mean over the demonstrations of −mean_t ℓ_θ at T = 1, nats a token. */
export async function heldOutLoss(
  heldOut: readonly PreparedItem[],
  options: {
    readonly model: EngineModel
    readonly adapter: Adapter
    readonly yieldPoint: YieldPoint
  },
): Promise<number> {
  const { model, adapter, yieldPoint } = options
  const requests = heldOut.map(({ tokens, responseStart }) => {
    return { tokens, responseStart, temperature: 1, adapter, yieldPoint }
  })
  const losses = (await model.scoreAll(requests)).map(
    ({ sampled }) => -sampled.reduce((sum, value) => sum + value, 0) / sampled.length,
  )
  return mean(losses) ?? Infinity
}
