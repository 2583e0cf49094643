// Which waiting samples make the next batch: DESIGN 7.2 and 7.3. Pure.
import type { Sample } from '../../shared/domain/training.ts'
import type { StoredSample } from '../store/types.ts'

/** Largest batch of one run. */
export const batchLimit = 16

/** Trained this often, a sample is retired (DESIGN 7.3). */
export const usesLimit = 3

const replayShare = 0.25

export interface Selection {
  readonly fresh: readonly Sample[]
  readonly replayed: readonly Sample[]
}

function newestFirst(a: Sample, b: Sample): number {
  return b.createdAt - a.createdAt
}

/** At most half of the batch from one session, once three sessions are waiting. */
function spread(samples: readonly Sample[], limit: number): Sample[] {
  const sessions = new Set(samples.map((sample) => sample.chatId))
  const perSession = sessions.size >= 3 ? Math.max(1, Math.floor(limit / 2)) : limit
  const taken = new Map<string | null, number>()
  const chosen: Sample[] = []
  for (const sample of samples) {
    const count = taken.get(sample.chatId) ?? 0
    if (chosen.length >= limit || count >= perSession) continue
    taken.set(sample.chatId, count + 1)
    chosen.push(sample)
  }
  return chosen
}

/**
 * Demonstrations first, at most half of an ordinary batch; a batch of demonstrations alone is whole. What is left of the
 * batch, up to a quarter of it, replays what was good in earlier ones, the least replayed first.
 */
export function selectBatch(
  waiting: readonly StoredSample[],
  used: readonly StoredSample[],
): Selection {
  const samples = waiting.map(({ sample }) => sample).toSorted(newestFirst)
  const demonstrations = samples.filter(({ kind }) => kind === 'demonstration')
  const turns = samples.filter(({ kind }) => kind === 'turn')
  const demonstrationLimit =
    turns.length === 0 ? batchLimit : Math.max(batchLimit / 2, batchLimit - turns.length)
  const chosen = spread(demonstrations, demonstrationLimit)
  const fresh = [...chosen, ...spread(turns, batchLimit - chosen.length)]
  // Within the batch's own limit: the trainer takes no more, and what it leaves out counts as tried.
  const share = Math.floor((fresh.length * replayShare) / (1 - replayShare))
  const replayLimit = Math.min(share, batchLimit - fresh.length)
  const replayed = used
    .filter(({ sample, uses }) => uses < usesLimit && isReplayable(sample))
    .toSorted((a, b) => a.uses - b.uses || newestFirst(a.sample, b.sample))
    .slice(0, replayLimit)
    .map(({ sample }) => sample)
  return { fresh, replayed }
}

/** Only what was good is shown again. */
function isReplayable(sample: Sample): boolean {
  return sample.kind === 'demonstration' || sample.reward === 1
}

/** Whether what is waiting makes a run due. */
export function isDue(waiting: readonly StoredSample[], samplesDue: number): boolean {
  return (
    waiting.length >= samplesDue ||
    waiting.some(({ sample }) => sample.kind === 'demonstration' && sample.origin !== 'practice')
  )
}
