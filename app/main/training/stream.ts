// Small pieces of asynchrony for the trainer: events of a running job as an async generator, a yield point that also
// ends when somebody gives up, and a turnstile.
import { AppError } from '../../shared/errors.ts'
import type { YieldPoint } from '../engine/index.ts'

/**
 * Runs `work` at once and yields what it emits; the work never waits for the reader. Its second argument aborts when the
 * reader leaves early or `signal` fires, and the generator ends only after the work has settled.
 */
export async function* streamOf<T>(
  signal: AbortSignal | undefined,
  work: (emit: (event: T) => void, ended: AbortSignal) => Promise<void>,
): AsyncGenerator<T, void, void> {
  const left = new AbortController()
  const ended = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal])
  const waiting: T[] = []
  let news = Promise.withResolvers<void>()
  let settled = false
  const emit = (event: T) => {
    waiting.push(event)
    news.resolve()
  }
  const outcome = work(emit, ended).then(
    () => null,
    (error: unknown) => ({ error }),
  )
  void outcome.then(() => {
    settled = true
    news.resolve()
  })
  try {
    while (!settled || waiting.length > 0) {
      const event = waiting.shift()
      if (event !== undefined) {
        yield event
        continue
      }
      await news.promise
      news = Promise.withResolvers<void>()
    }
  } finally {
    left.abort()
    await outcome
  }
  const failure = await outcome
  if (failure !== null) throw failure.error
}

/** A yield point that rejects with `cancelled` as soon as one of the signals fires, even while it waits. */
export function cancellable(yieldPoint: YieldPoint, signals: readonly AbortSignal[]): YieldPoint {
  const any = AbortSignal.any([...signals])
  const cancelled = () => new AppError('cancelled', 'the work was cancelled')
  const aborted = new Promise<never>((_, reject) => {
    any.addEventListener('abort', () => reject(cancelled()), { once: true })
  })
  // Nobody may be waiting when the signal fires; the check below reports it then.
  aborted.catch(() => undefined)
  return async () => {
    if (any.aborted) throw cancelled()
    const lease = await Promise.race([yieldPoint(), aborted])
    if (any.aborted) throw cancelled()
    return lease
  }
}

/** Lets one piece of work in at a time, in the order of arrival. */
export function createTurnstile(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work, work)
    last = mine.catch(() => undefined)
    return mine
  }
}
