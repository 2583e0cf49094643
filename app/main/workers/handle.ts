// The life of one worker: started by the first call, started anew by the first call after its end, closed by its owner.
import { AppError } from '../../shared/errors.ts'
import type { Remote } from './remote.ts'

export interface Started<Client> {
  readonly remote: Remote<Client>
  /** Asks it to leave; it does so once its native work has ended. Nothing is terminated in mid-work. */
  close(): void
  /** Resolves when it is gone, with the failure that ended it; null when it left as asked. */
  readonly exited: Promise<AppError | null>
}

export interface WorkerHandle<Client> extends AsyncDisposable {
  client(): Client
  isRunning(): boolean
  /** Lets the present worker go if it has nothing to do; the next call starts another. */
  retire(): Promise<void>
}

export function workerHandle<Client>(
  start: () => Started<Client>,
  onFailure: (failure: AppError) => void,
): WorkerHandle<Client> {
  let started: Started<Client> | null = null
  let isClosed = false
  const leave = async (): Promise<void> => {
    const leaving = started
    if (leaving === null) return
    leaving.close()
    await leaving.exited
  }
  return {
    client() {
      if (isClosed) throw new AppError('unavailable', 'The program is closing.')
      if (started === null) {
        const fresh = start()
        started = fresh
        void fresh.exited.then((failure) => {
          if (started === fresh) started = null
          if (failure !== null) onFailure(failure)
        })
      }
      return started.remote.client
    },
    isRunning: () => started !== null,
    async retire() {
      if (started?.remote.calls() === 0) await leave()
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await leave()
    },
  }
}
