// What the trainer's own model says of the turns before the first update: the old student (active adapter, bare
// prompt), in one go, so that neighbours share passes; and the frozen base where a penalty asks for it.
import type { TrainingConfig } from '../../shared/domain/training.ts'
import type { Adapter, EngineModel, Score, ScoreRequest, YieldPoint } from '../engine/index.ts'
import type { BatchItem } from './batch.ts'

export interface StudentOptions {
  readonly model: EngineModel
  readonly config: TrainingConfig
  /** The active adapter, before the first update. */
  readonly adapter: Adapter
  readonly yieldPoint: YieldPoint
}

/** The reply after a prompt, bare or hinted. */
export function sequenceOf(
  item: BatchItem,
  promptIds: readonly number[],
): Pick<ScoreRequest, 'tokens' | 'responseStart'> {
  const tokens = Int32Array.from([...promptIds, ...item.sample.responseIds]) // [T]
  return { tokens, responseStart: promptIds.length }
}

/** ℓ_old of each turn, with the likeliest tokens where it has hints; demonstrations need none. */
export async function scoreStudents(
  items: readonly BatchItem[],
  options: StudentOptions,
): Promise<ReadonlyMap<BatchItem, Score>> {
  const { adapter, config } = options
  const topKOf = (item: BatchItem) => (item.opd ? { topK: config.topK } : {})
  return scoreTurns(items, options, (item) => ({ adapter, ...topKOf(item) }))
}

/** The base on the same turns. */
export async function scoreBase(
  items: readonly BatchItem[],
  options: StudentOptions,
): Promise<ReadonlyMap<BatchItem, Score>> {
  return scoreTurns(items, options, () => ({ adapter: null }))
}

async function scoreTurns(
  items: readonly BatchItem[],
  options: StudentOptions,
  by: (item: BatchItem) => Pick<ScoreRequest, 'adapter' | 'topK'>,
): Promise<ReadonlyMap<BatchItem, Score>> {
  const { model, yieldPoint } = options
  const turns = items.filter((item) => !item.demo)
  const requests = turns.map((item) => {
    const { temperature } = item
    return { ...sequenceOf(item, item.promptIds), temperature, yieldPoint, ...by(item) }
  })
  const scores = await model.scoreAll(requests)
  return new Map(
    turns.flatMap((item, index) => {
      const score = scores[index]
      return score === undefined ? [] : [[item, score] as const]
    }),
  )
}

/** Tokens that scoring these items once runs through the model. */
export function scoredTokens(scores: ReadonlyMap<BatchItem, Score>): number {
  return [...scores.keys()].reduce((sum, item) => {
    return sum + item.promptIds.length + item.sample.responseIds.length
  }, 0)
}
