// The browser host: the built renderer over loopback HTTP and the contract over WebSocket. One-time start
// tokens become a SameSite=Strict cookie; Host and Origin are checked, so no other page can reach it.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { RPCHandler } from '@orpc/server/ws'
import { Hono, type Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { WebSocketServer } from 'ws'
import { AppError } from '../../shared/errors.ts'
import { createRouter } from './router.ts'
import type { Services } from './services.ts'

export interface BrowserHostOptions {
  readonly services: Services
  /** Folder of the built renderer. */
  readonly rendererDir: string
  /** First port to try; 0 = any free one. The next free one is taken when it is in use. */
  readonly port: number
  /** One-time start tokens beside the one that is made here. */
  readonly tokens: readonly string[]
}

export interface BrowserHost extends AsyncDisposable {
  /** With the one-time token. */
  readonly url: string
  readonly port: number
}

const cookieName = 'hone_session'
const portsTried = 50

const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function newSecret(): string {
  return randomBytes(24).toString('base64url')
}

function isSame(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Only names of this machine: no foreign host name may resolve to us (DNS rebinding). */
function isLocalHost(host: string | undefined, port: number): boolean {
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`
}

function cookieOf(request: IncomingMessage): string {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === cookieName)?.[1] ?? ''
}

interface Access {
  readonly session: string
  /** Unused start tokens. */
  readonly tokens: Set<string>
  readonly port: () => number
}

function createPages(rendererDir: string, { session, tokens, port }: Access) {
  const app = new Hono()
  const refuse = (context: Context, status: 401 | 403) =>
    context.text(
      status === 403
        ? 'This address is not served here.'
        : 'This window has no session. Start Hone again, or open the address that it printed, once.',
      status,
    )
  app.use(async (context, next) => {
    if (!isLocalHost(context.req.header('host'), port())) return refuse(context, 403)
    context.header('Content-Security-Policy', contentPolicy)
    context.header('X-Content-Type-Options', 'nosniff')
    context.header('Referrer-Policy', 'no-referrer')
    context.header('Cache-Control', 'no-store')
    const token = context.req.query('token')
    if (token !== undefined && tokens.delete(token)) {
      setCookie(context, cookieName, session, { httpOnly: true, sameSite: 'Strict', path: '/' })
      return context.redirect('/')
    }
    if (!isSame(getCookie(context, cookieName) ?? '', session)) return refuse(context, 401)
    if (token !== undefined) return context.redirect('/')
    return next()
  })
  app.use(serveStatic({ root: rendererDir }))
  app.get('*', serveStatic({ root: rendererDir, path: 'index.html' }))
  return app
}

/** Takes the first free port from `first` on; `busy` when none of the tried ones is free. */
async function listen(server: Server, first: number): Promise<number> {
  for (let port = first; port <= first + portsTried; port += 1) {
    const isOpen = await new Promise<boolean>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error)
      server.once('error', onError)
      server.listen({ host: '127.0.0.1', port }, () => {
        server.off('error', onError)
        resolve(true)
      })
    })
    const address = server.address()
    if (isOpen && address !== null && typeof address === 'object') return address.port
  }
  throw new AppError('busy', `No port from ${first} to ${first + portsTried} is free.`)
}

export async function serveBrowser(options: BrowserHostOptions): Promise<BrowserHost> {
  const session = newSecret()
  const token = newSecret()
  const tokens = new Set([token, ...options.tokens])
  let port = 0
  const pages = createPages(options.rendererDir, { session, tokens, port: () => port })
  const listener = getRequestListener(pages.fetch)
  const server = createServer((request, response) => void listener(request, response))
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 8 * 1024 * 1024 })
  const handler = new RPCHandler(createRouter(options.services))

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { host, origin } = request.headers
    // Programs of this machine (the demo user, the benchmark) send no Origin; a page always does.
    const isOwnOrigin = origin === undefined || origin === `http://${host ?? ''}`
    const isAllowed =
      isLocalHost(host, port) &&
      isOwnOrigin &&
      isSame(cookieOf(request), session) &&
      request.url === '/rpc'
    if (!isAllowed) {
      socket.once('error', () => socket.destroy())
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      // A broken or too large frame: `ws` closes the connection with the reason; nothing else may end.
      webSocket.on('error', () => webSocket.close())
      void handler.upgrade(webSocket)
    })
  })
  port = await listen(server, options.port)

  return {
    url: `http://127.0.0.1:${port}/?token=${token}`,
    port,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
