import { createORPCClient, type ClientContext, type ClientLink } from '@orpc/client'
import type { ContractRouterClient } from '@orpc/contract'
import type { appContract } from '../../shared/contract/app.ts'
import { AppError } from '../../shared/errors.ts'
import { toClientError } from './errors.ts'
import { openPort, openSocket, type Transport } from './transport.ts'

export type Host = ContractRouterClient<typeof appContract>

/** `connecting` = never open so far; `lost` = it was open, or several tries failed. */
export type ConnectionState = 'connecting' | 'open' | 'lost'

export interface Connection {
  readonly host: Host
  /** Calls the listener on every change, and at once with the present state. */
  subscribe(listener: (state: ConnectionState) => void): () => void
  /** Ends the present wait between two tries. */
  retryNow(): void
  close(): void
}

const firstDelayMs = 250
const longestDelayMs = 8000
/** A host that is still starting needs a moment; only then is the bar worth showing. */
const quietTries = 2

export function backOffMs(tries: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(tries, 10))
}

export interface ConnectOptions {
  open?: () => Promise<Transport>
  wait?: (milliseconds: number, wake: AbortSignal) => Promise<void>
}

/** One connection for the life of the page; it comes back by itself. */
export function connect(options: ConnectOptions = {}): Connection {
  const open = options.open ?? (isDesktop() ? openPort : openSocket)
  const wait = options.wait ?? waitFor
  const listeners = new Set<(state: ConnectionState) => void>()
  let state: ConnectionState = 'connecting'
  let current: Transport | null = null
  let wake = new AbortController()
  let closed = false

  function set(next: ConnectionState): void {
    if (state === next) return
    state = next
    for (const listener of listeners) listener(next)
  }

  async function keepOpen(): Promise<void> {
    for (let tries = 0; !closed; tries += 1) {
      try {
        current = await open()
        tries = 0
        set('open')
        await current.closed
        set('lost')
      } catch {
        // Not reachable yet: the state says so, and the next round tries again.
        if (tries >= quietTries) set('lost')
      } finally {
        current = null
      }
      if (closed) return
      wake = new AbortController()
      await wait(backOffMs(tries), wake.signal)
    }
  }

  const link: ClientLink<ClientContext> = {
    async call(path, input, callOptions) {
      const transport = current
      if (transport === null) throw connectionLost()
      try {
        return await transport.link.call(path, input, callOptions)
      } catch (error) {
        if (current !== transport) throw connectionLost(error)
        throw toClientError(error)
      }
    },
  }

  void keepOpen()
  return {
    host: createORPCClient<Host>(link),
    subscribe(listener) {
      listeners.add(listener)
      listener(state)
      return () => listeners.delete(listener)
    },
    retryNow: () => wake.abort(),
    close() {
      closed = true
      current?.close()
      wake.abort()
    },
  }
}

function connectionLost(cause?: unknown): AppError {
  return new AppError('unavailable', '', { data: { connection: 'lost' }, cause })
}

function isDesktop(): boolean {
  return 'honeDesktop' in window && window.honeDesktop === true
}

function waitFor(milliseconds: number, wake: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    wake.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
