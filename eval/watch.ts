import { setTimeout as delay } from 'node:timers/promises'
import type { AppEvent, ChatView, MessageView } from '../app/shared/contract/app.ts'
import { AppError } from '../app/shared/errors.ts'
import type { Connection } from './client.ts'

/** Waits for states of the app: looks again at each event of the host, and now and then without one. */
export interface Watch extends AsyncDisposable {
  /** Resolves with the first value that is not null; rejects with `timeout` or when the host goes away. */
  until<Value>(
    what: string,
    timeoutMs: number,
    look: () => Promise<Value | null>,
  ): Promise<NonNullable<Value>>
}

/** A missed event costs at most this much. */
const pollMs = 1000

export async function openWatch({ client, closed }: Connection): Promise<Watch> {
  const events = await client.system.events()
  let wake: () => void = () => undefined
  const reading = readAll(events, () => wake())
  return {
    async until(what, timeoutMs, look) {
      const deadline = Date.now() + timeoutMs
      while (true) {
        const woken = new Promise<void>((resolve) => (wake = resolve))
        const value = await look()
        if (value !== null && value !== undefined) return value
        if (closed.aborted) throw new AppError('unavailable', `the host went away during: ${what}`)
        if (Date.now() > deadline) {
          throw new AppError('timeout', `${what} took longer than ${timeoutMs / 1000} s`)
        }
        await pause(woken)
      }
    },
    async [Symbol.asyncDispose]() {
      await events.return?.()
      await reading
    },
  }
}

async function pause(woken: Promise<void>): Promise<void> {
  const stop = new AbortController()
  const timer = delay(pollMs, undefined, { signal: stop.signal }).catch(() => undefined)
  await Promise.race([woken, timer])
  stop.abort()
}

/** A stream that ends or breaks leaves the polling, which reports a host that is gone. */
async function readAll(events: AsyncIterable<AppEvent>, onEvent: () => void): Promise<void> {
  try {
    for await (const event of events) if (event.kind !== 'token') onEvent()
  } catch {
    onEvent()
  }
}

export function messageOf(view: ChatView, messageId: string): MessageView {
  const message = view.messages.find(({ id }) => id === messageId)
  if (message === undefined) throw new AppError('not-found', `message ${messageId} is not shown`)
  return message
}
