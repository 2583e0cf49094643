import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FileServer extends AsyncDisposable {
  readonly url: string
  /** The Range header of every request so far, in order; null where there was none. */
  readonly ranges: readonly (string | null)[]
  /** The client says how much of the file it has; a `cut` waits for that, so no byte is lost. */
  readonly acknowledge: (receivedBytes: number) => void
}

/** What the server does with one request; the last behaviour repeats. */
export type Behaviour =
  | { readonly kind: 'serve'; readonly ranges?: boolean }
  | { readonly kind: 'cut'; readonly afterBytes: number }
  | { readonly kind: 'stall'; readonly afterBytes: number }
  | { readonly kind: 'status'; readonly status: number }

/** A web server on the loopback address that hands out one file, well or badly. */
export async function serveFile(
  content: Buffer,
  behaviours: readonly Behaviour[] = [{ kind: 'serve' }],
): Promise<FileServer> {
  const ranges: (string | null)[] = []
  let cut: Cut | null = null
  const server = createServer((request, response) => {
    const behaviour = behaviours[Math.min(ranges.length, behaviours.length - 1)]
    ranges.push(request.headers.range ?? null)
    cut = answer({ request, response, content }, behaviour ?? { kind: 'serve' })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/model.gguf`,
    ranges,
    acknowledge: (receivedBytes) => {
      if (cut !== null && receivedBytes >= cut.atByte) cut.response.destroy()
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.close(() => {
          done()
        })
        server.closeAllConnections()
      }),
  }
}

interface Cut {
  readonly atByte: number
  readonly response: ServerResponse
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly content: Buffer
}

function answer({ request, response, content }: Exchange, behaviour: Behaviour): Cut | null {
  if (behaviour.kind === 'status') {
    response.writeHead(behaviour.status).end('no')
    return null
  }
  const ranged = behaviour.kind !== 'serve' || behaviour.ranges !== false
  const asked = ranged ? /^bytes=(\d+)-$/.exec(request.headers.range ?? '') : null
  const start = asked === null ? 0 : Number(asked[1])
  if (start >= content.length) {
    response.writeHead(416).end()
    return null
  }
  const body = content.subarray(start)
  response.writeHead(asked === null ? 200 : 206, {
    'content-length': body.length,
    'content-range': `bytes ${start}-${content.length - 1}/${content.length}`,
  })
  if (behaviour.kind === 'serve') {
    response.end(body)
    return null
  }
  response.write(body.subarray(0, behaviour.afterBytes))
  return behaviour.kind === 'cut' ? { atByte: start + behaviour.afterBytes, response } : null
}
