// One piece of learning work at a time: a run or a practice, its progress, and its end.
import { toAppError } from '../../shared/errors.ts'
import type { TrainerLease } from './ports.ts'
import type { RunProgress } from './run.ts'

export interface Work extends Omit<RunProgress, 'phase'> {
  readonly phase: RunProgress['phase'] | 'practising'
}

export interface WorkSlot extends AsyncDisposable {
  current(): Work | null
  /** What went wrong with the last piece of work, when it left no report of its own. */
  failure(): string | null
  start(phase: Work['phase'], task: (signal: AbortSignal) => Promise<unknown>): void
  progress(work: Work): void
}

export function createWorkSlot(lease: TrainerLease, announce: () => void): WorkSlot {
  let work: Work | null = null
  let running: Promise<void> | null = null
  let abort = new AbortController()
  let failure: string | null = null

  function end(): void {
    work = null
    running = null
    announce()
  }

  return {
    current: () => work,
    failure: () => failure,
    progress(next) {
      work = next
      announce()
    },
    start(phase, task) {
      work = { phase, stage: null, step: null, steps: null }
      failure = null
      abort = new AbortController()
      lease.clearCancel()
      const { signal } = abort
      running = task(signal)
        .catch((thrown: unknown) => {
          if (!signal.aborted) failure = toAppError(thrown).message
        })
        .then(end)
      announce()
    },
    async [Symbol.asyncDispose]() {
      abort.abort()
      lease.cancel()
      await running
    },
  }
}
