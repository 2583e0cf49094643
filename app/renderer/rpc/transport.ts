import type { ClientContext, ClientLink } from '@orpc/client'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import { RPCLink as SocketLink } from '@orpc/client/websocket'

export interface Transport {
  readonly link: ClientLink<ClientContext>
  /** Resolves when the other side is gone. */
  readonly closed: Promise<void>
  close(): void
}

/** The browser's way: a WebSocket on the origin that served the page. */
export function openSocket(): Promise<Transport> {
  const address = new URL('/rpc', window.location.href)
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new WebSocket(address)
  const closed = new Promise<void>((resolve) => {
    socket.addEventListener('close', () => resolve(), { once: true })
  })
  return new Promise((resolve, reject) => {
    socket.addEventListener(
      'open',
      () =>
        resolve({
          link: new SocketLink({ websocket: socket }),
          closed,
          close: () => socket.close(),
        }),
      { once: true },
    )
    void closed.then(() => reject(new Error('the socket closed before it opened')))
  })
}

/** The desktop's way: the preload script hands over one end of a message channel. */
export function openPort(): Promise<Transport> {
  return new Promise((resolve) => {
    function receive(event: MessageEvent<unknown>): void {
      const port = event.ports[0]
      if (event.source !== window || !isPortMessage(event.data) || port === undefined) return
      window.removeEventListener('message', receive)
      const closed = new Promise<void>((close) => {
        port.addEventListener('close', () => close(), { once: true })
      })
      const link = new PortLink({ port })
      port.start()
      resolve({ link, closed, close: () => port.close() })
    }
    window.addEventListener('message', receive)
    // A page that loaded after the preload's first offer, or lost its port, asks for one.
    window.postMessage({ type: 'hone-port-request' }, window.location.origin)
  })
}

function isPortMessage(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'type' in data && data.type === 'hone-port'
}
