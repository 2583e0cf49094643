import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/websocket'
import type { ContractRouterClient } from '@orpc/contract'
import WebSocket from 'ws'
import type { appContract } from '../app/shared/contract/app.ts'
import { AppError } from '../app/shared/errors.ts'

export type AppClient = ContractRouterClient<typeof appContract>

export interface Connection extends AsyncDisposable {
  readonly client: AppClient
  /** Aborts when the host has closed the connection or it was disposed. */
  readonly closed: AbortSignal
}

/** Signs in with the one-time token of the start URL, as a browser would, and opens the contract. */
export async function connect(startUrl: string): Promise<Connection> {
  const cookie = await signIn(startUrl)
  const { origin, host } = new URL(startUrl)
  const socket = new WebSocket(`ws://${host}/rpc`, { headers: { cookie, origin } })
  const closed = new AbortController()
  socket.on('close', () => closed.abort())
  await opened(socket)
  const client: AppClient = createORPCClient(new RPCLink({ websocket: asBrowserSocket(socket) }))
  return {
    client,
    closed: closed.signal,
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return
      const gone = new Promise((resolve) => socket.once('close', resolve))
      socket.close()
      await gone
    },
  }
}

/** `ws` follows the browser's interface but for the types of its events. */
function asBrowserSocket(socket: WebSocket): globalThis.WebSocket {
  return socket as unknown as globalThis.WebSocket
}

async function signIn(startUrl: string): Promise<string> {
  const response = await fetch(startUrl, { redirect: 'manual' }).catch((cause: unknown) => {
    throw new AppError('network', `nothing answers at ${new URL(startUrl).origin}`, { cause })
  })
  await response.body?.cancel()
  const cookies = response.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
  if (response.status >= 400 || cookies.length === 0) {
    throw new AppError(
      'refused',
      `the start URL gave no session (status ${response.status}); its token works once, take a new one from the running app`,
    )
  }
  return cookies.join('; ')
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('error', (cause) => {
      reject(new AppError('network', `the connection failed: ${cause.message}`, { cause }))
    })
    socket.once('unexpected-response', (_request, response) => {
      const status = response.statusCode ?? 'none'
      reject(new AppError('refused', `the connection was refused with status ${status}`))
    })
  })
}
