// Cores are a lease, never shared by accident (DESIGN 3.3): whoever serves or judges stops the trainer at its
// next graph segment. Two words of shared memory carry the lease; no message has to arrive for it to act.
import { leaseWords } from '../../shared/contract/trainer.ts'
import type { TrainerLease } from './ports.ts'

export interface GovernorOptions {
  readonly memory: SharedArrayBuffer
  /** Physical cores. */
  readonly cores: number
  /** Replies and judgements running or waiting. */
  readonly demand: () => number
  readonly quietMs: () => number
  /** Called after the words may have changed: a process of its own does not share them. */
  readonly onChange?: () => void
}

export interface Governor extends TrainerLease {
  /** Call whenever demand may have changed. */
  update(): void
}

/** After this much quiet, training may take every core. */
const quietForAllCoresMs = 60_000

export function createGovernor(options: GovernorOptions): Governor {
  const words = new Int32Array(options.memory)
  const tell = (): void => options.onChange?.()

  function update(): void {
    const isWanted = options.demand() > 0
    const spare = Math.max(1, options.cores - 1)
    const threads = options.quietMs() >= quietForAllCoresMs ? options.cores : spare
    Atomics.store(words, leaseWords.threads, threads)
    Atomics.store(words, leaseWords.stop, isWanted ? 1 : 0)
    Atomics.notify(words, leaseWords.stop)
    tell()
  }

  update()
  return {
    update,
    cancel() {
      Atomics.store(words, leaseWords.cancel, 1)
      Atomics.store(words, leaseWords.stop, 0)
      Atomics.notify(words, leaseWords.stop)
      tell()
    },
    clearCancel() {
      Atomics.store(words, leaseWords.cancel, 0)
      tell()
    },
  }
}
