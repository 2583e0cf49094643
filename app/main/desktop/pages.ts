// The desktop's own protocol: hone://app/ hands out the built interface and nothing else.
import { readFile } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'

export const pageScheme = 'hone'
export const pageOrigin = `${pageScheme}://app`

const contentPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Answers requests for files below `rendererDir`; anything else is 403 or 404. */
export function createPageHandler(rendererDir: string): (request: Request) => Promise<Response> {
  return async ({ url, method }) => {
    const { protocol, host, pathname } = new URL(url)
    if (method !== 'GET' || protocol !== `${pageScheme}:` || host !== 'app') return refuse(403)
    const path = fileFor(rendererDir, pathname)
    if (path === null) return refuse(403)
    const contentType = contentTypes[extname(path)]
    if (contentType === undefined) return refuse(404)
    try {
      return new Response(new Uint8Array(await readFile(path)), {
        headers: {
          'content-type': contentType,
          'content-security-policy': contentPolicy,
          'x-content-type-options': 'nosniff',
        },
      })
    } catch (error) {
      // A missing file is an ordinary answer of a protocol; the reason goes with it.
      return refuse(404, error instanceof Error ? error.message : String(error))
    }
  }
}

export function isOwnPage(url: string): boolean {
  return url === pageOrigin || url.startsWith(`${pageOrigin}/`)
}

function fileFor(rendererDir: string, pathname: string): string | null {
  let decoded: string
  try {
    decoded = decodeURIComponent(pathname)
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
  if (decoded.includes('\0')) return null
  const root = normalize(rendererDir)
  const path = normalize(join(root, decoded === '/' ? 'index.html' : decoded))
  return path.startsWith(root.endsWith(sep) ? root : root + sep) ? path : null
}

function refuse(status: 403 | 404, text = ''): Response {
  return new Response(text, { status })
}
