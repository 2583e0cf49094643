// The trainer's side of the compute governor: a yield point over the shared words of the lease (DESIGN 3.3).
import { setImmediate } from 'node:timers/promises'
import { leaseWords } from '../../shared/contract/trainer.ts'
import { AppError } from '../../shared/errors.ts'

/** How long a stopped trainer sleeps before it looks whether it was cancelled meanwhile. */
const recheckMs = 200

/** Threads that the governor grants, at least one. */
export function grantedThreads(words: Int32Array<SharedArrayBuffer>): number {
  return Math.max(1, Atomics.load(words, leaseWords.threads))
}

/** Sleeps while the stop word is 1; rejects with `cancelled` once the cancel word is 1, stopped or not. */
export function leasedYieldPoint(
  words: Int32Array<SharedArrayBuffer>,
): () => Promise<{ readonly threads: number }> {
  const isSet = (word: number) => Atomics.load(words, word) === 1
  return async () => {
    // A macrotask, so that messages on the port (an abort among them) are handled between segments.
    await setImmediate()
    while (isSet(leaseWords.stop) && !isSet(leaseWords.cancel)) {
      await Atomics.waitAsync(words, leaseWords.stop, 1, recheckMs).value
    }
    if (isSet(leaseWords.cancel)) throw new AppError('cancelled', 'the governor cancelled the work')
    return { threads: grantedThreads(words) }
  }
}
