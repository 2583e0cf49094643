import type { ServablePort } from '../rpc/index.ts'
import { isOwnPage } from './pages.ts'

export const portRequest = 'hone-port-request'
export const portOffer = 'hone-port'

type StartablePort = ServablePort & { start(): void; close(): void }

/** What handing out ports needs of Electron; fakes in tests. */
export interface PortOffice<Port extends StartablePort> {
  readonly ipc: {
    on(channel: string, listener: (event: PortRequest<Port>) => void): unknown
  }
  createChannel(): { readonly port1: Port; readonly port2: Port }
  serve(port: Port): void
}

export interface PortRequest<Port> {
  /** null when the frame is gone already. */
  readonly senderFrame: { readonly url: string } | null
  readonly sender: {
    postMessage(channel: string, message: unknown, transfer: Port[]): void
  }
}

/** Gives each page of Hone that asks one end of a new channel, and serves the other end. */
export function handOutPorts<Port extends StartablePort>(office: PortOffice<Port>): void {
  office.ipc.on(portRequest, (event) => {
    if (event.senderFrame === null || !isOwnPage(event.senderFrame.url)) return
    const { port1, port2 } = office.createChannel()
    office.serve(port1)
    port1.start()
    event.sender.postMessage(portOffer, null, [port2])
  })
}
