import { RPCHandler } from '@orpc/server/message-port'
import { createRouter } from './router.ts'
import type { Services } from './services.ts'

/** The parameters of oRPC's message-port adapter: DOM, Node and Electron ports have this shape. */
export type ServablePort = Parameters<RPCHandler<Record<never, never>>['upgrade']>[0]

/** Serves the contract on one message port until it closes. */
export function servePort(port: ServablePort, services: Services): void {
  new RPCHandler(createRouter(services)).upgrade(port)
}
