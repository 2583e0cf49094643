import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { serveBrowser, type BrowserHost } from './browser.ts'
import type { Services } from './services.ts'

// No call of the contract is made here: what is tested is who may reach it.
const services = {} as unknown as Services

let folder = ''
const open: AsyncDisposable[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hone-web-'))
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Hone</title>')
})

afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function serve(port = 0, tokens: string[] = []): Promise<BrowserHost> {
  const host = await serveBrowser({ services, rendererDir: folder, port, tokens })
  open.push(host)
  return host
}

async function signIn(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' })
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/** The status that an upgrade to a WebSocket is answered with; 101 when it is accepted. */
function upgradeStatus(
  port: number,
  headers: Record<string, string>,
  path = '/rpc',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers })
    socket.once('open', () => {
      socket.terminate()
      resolve(101)
    })
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      socket.terminate()
      resolve(response.statusCode ?? 0)
    })
    socket.once('error', reject)
  })
}

/** `fetch` does not let a caller choose the Host header. */
function statusWithHost(port: number, host: string, cookie: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/', headers: { host, cookie } }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .once('error', reject)
      .end()
  })
}

describe('the browser host', () => {
  it('turns its start token into a session once', async () => {
    const host = await serve()
    const first = await fetch(host.url, { redirect: 'manual' })
    expect(first.status).toBe(302)
    const cookie = first.headers.getSetCookie()[0] ?? ''
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
    const second = await fetch(host.url, { redirect: 'manual' })
    expect(second.status).toBe(401)
    expect(await second.text()).toContain('no session')
  })

  it('serves the page with a strict policy to a session, and to nobody else', async () => {
    const host = await serve()
    const cookie = await signIn(host.url)
    const page = await fetch(`http://127.0.0.1:${host.port}/`, { headers: { cookie } })
    expect(await page.text()).toContain('<title>Hone</title>')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
    expect((await fetch(`http://127.0.0.1:${host.port}/`)).status).toBe(401)
    const forged = await fetch(`http://127.0.0.1:${host.port}/`, {
      headers: { cookie: 'hone_session=guess' },
    })
    expect(forged.status).toBe(401)
  })

  it('accepts further one-time tokens from the launcher', async () => {
    const host = await serve(0, ['for-the-demo'])
    expect(await signIn(`http://127.0.0.1:${host.port}/?token=for-the-demo`)).not.toBe('')
    expect(await signIn(`http://127.0.0.1:${host.port}/?token=for-the-demo`)).toBe('')
  })

  it('refuses a foreign host name, as after DNS rebinding', async () => {
    const host = await serve()
    const cookie = await signIn(host.url)
    expect(await statusWithHost(host.port, `localhost:${host.port}`, cookie)).toBe(200)
    expect(await statusWithHost(host.port, 'evil.example', cookie)).toBe(403)
    expect(await upgradeStatus(host.port, { cookie, host: 'evil.example' })).toBe(403)
  })

  it('opens the contract only with the session, from its own page, at its own path', async () => {
    const host = await serve()
    const cookie = await signIn(host.url)
    const origin = `http://127.0.0.1:${host.port}`
    expect(await upgradeStatus(host.port, { cookie, origin })).toBe(101)
    expect(await upgradeStatus(host.port, { cookie })).toBe(101)
    expect(await upgradeStatus(host.port, { origin })).toBe(403)
    expect(await upgradeStatus(host.port, { cookie, origin: 'http://evil.example' })).toBe(403)
    expect(await upgradeStatus(host.port, { cookie, origin }, '/other')).toBe(403)
  })

  it('takes the next free port when the wanted one is busy', async () => {
    const busy = createServer()
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    const { port } = busy.address() as AddressInfo
    const host = await serve(port)
    expect(host.port).toBeGreaterThan(port)
    expect((await fetch(host.url, { redirect: 'manual' })).status).toBe(302)
    await new Promise((resolve) => busy.close(resolve))
  })

  it('closes a connection whose frame is too large or broken, and goes on serving', async () => {
    const host = await serve()
    const cookie = await signIn(host.url)
    for (const [frame, code] of [
      [Buffer.alloc(9 * 1024 * 1024), 1009],
      [Buffer.from([0xff, 0xfe]), 1007],
    ] as const) {
      const socket = new WebSocket(`ws://127.0.0.1:${host.port}/rpc`, { headers: { cookie } })
      await new Promise((resolve) => socket.once('open', resolve))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.send(frame, { binary: code === 1009 })
      expect(await closed).toBe(code)
      expect(await upgradeStatus(host.port, { cookie })).toBe(101)
    }
  })

  it('does not answer a path outside its folder', async () => {
    const host = await serve()
    const cookie = await signIn(host.url)
    const answer = await fetch(`http://127.0.0.1:${host.port}/..%2f..%2fetc%2fpasswd`, {
      headers: { cookie },
    })
    expect(await answer.text()).not.toContain('root:')
  })
})
