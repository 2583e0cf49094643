/** The parts of the page and of Electron's IPC that the preload touches; fakes in tests. */
export interface ForwardOptions<Port> {
  readonly ipc: {
    send(channel: string): void
    on(channel: string, listener: (event: { readonly ports: readonly Port[] }) => void): unknown
  }
  readonly page: PageWindow<Port>
}

export interface PageWindow<Port> {
  readonly location: { readonly origin: string }
  addEventListener(
    type: 'message',
    listener: (event: { readonly source: unknown; readonly data: unknown }) => void,
  ): void
  postMessage(message: unknown, origin: string, transfer: Port[]): void
}

const request = 'hone-port-request'
const offer = 'hone-port'

/** Passes the page's wish for a port to the main process, and the port back to the page. */
export function forwardPorts<Port>({ ipc, page }: ForwardOptions<Port>): void {
  ipc.on(offer, ({ ports }) => {
    page.postMessage({ type: offer }, page.location.origin, [...ports])
  })
  page.addEventListener('message', ({ source, data }) => {
    if (source === page && isRequest(data)) ipc.send(request)
  })
}

function isRequest(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'type' in data && data.type === request
}
