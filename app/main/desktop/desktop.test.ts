import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  FakeContents,
  FakeIpc,
  FakePage,
  FakeUtility,
} from '../../../test/support/fake-electron.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { forwardPorts } from '../preload/forward.ts'
import { utilityChildren } from './children.ts'
import { createPageHandler } from './pages.ts'
import { handOutPorts } from './ports.ts'
import { lockDown, windowOptions } from './window.ts'

const ownUrl = 'hone://app/index.html'

function port() {
  const state = { started: false }
  return {
    state,
    start: () => {
      state.started = true
    },
    close: () => undefined,
    addEventListener: () => undefined,
    postMessage: () => undefined,
  }
}

function office() {
  const ipc = new FakeIpc()
  const served: unknown[] = []
  const [port1, port2] = [port(), port()]
  handOutPorts({
    ipc,
    createChannel: () => ({ port1, port2 }),
    serve: (it) => served.push(it),
  })
  return { ipc, served, port1, port2 }
}

test('a page of Hone that asks gets one end of a channel whose other end is served', () => {
  const { ipc, served, port1, port2 } = office()
  expect(ipc.request('hone-port-request', ownUrl)).toEqual([
    { channel: 'hone-port', ports: [port2] },
  ])
  expect(served).toEqual([port1])
  expect(port1.state.started).toBe(true)
})

test.each(['https://example.org/', 'hone://app.example.org/', 'file:///etc/passwd', null])(
  'a frame of %s gets no port',
  (url) => {
    const { ipc, served } = office()
    expect(ipc.request('hone-port-request', url)).toEqual([])
    expect(served).toEqual([])
  },
)

test('the preload asks for the page and hands the port on to it alone', () => {
  const page = new FakePage('hone://app')
  const ipc = new FakeIpc()
  forwardPorts({ ipc, page })
  page.hear({ source: page, data: { type: 'hone-port-request' } })
  expect(ipc.sent).toEqual(['hone-port-request'])
  const offered = port()
  ipc.deliver('hone-port', [offered])
  expect(page.posted).toEqual([
    { message: { type: 'hone-port' }, origin: 'hone://app', ports: [offered] },
  ])
})

test.each([
  ['from another window', { source: {}, data: { type: 'hone-port-request' } }],
  ['of another kind', { source: 'page', data: { type: 'hone-port' } }],
  ['without a type', { source: 'page', data: 'hone-port-request' }],
])('the preload ignores a message %s', (_what, { source, data }) => {
  const page = new FakePage('hone://app')
  const ipc = new FakeIpc()
  forwardPorts({ ipc, page })
  page.hear({ source: source === 'page' ? page : source, data })
  expect(ipc.sent).toEqual([])
})

test('a window stays on its own page, opens no other, and passes web links on', () => {
  const contents = new FakeContents()
  const outside: string[] = []
  lockDown(contents, (url) => outside.push(url))
  expect(contents.navigate('will-navigate', ownUrl)).toBe('allowed')
  expect(contents.navigate('will-navigate', 'https://example.org/')).toBe('prevented')
  expect(contents.navigate('will-redirect', 'hone://app.example.org/')).toBe('prevented')
  expect(contents.navigate('will-attach-webview', '')).toBe('prevented')
  expect(contents.open('https://example.org/')).toBe('deny')
  expect(contents.open('file:///etc/passwd')).toBe('deny')
  expect(contents.open('javascript:alert(1)')).toBe('deny')
  expect(outside).toEqual(['https://example.org/'])
})

test('windows are sandboxed and isolated', () => {
  expect(windowOptions('preload.cjs').webPreferences).toMatchObject({
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webviewTag: false,
  })
})

test('the protocol hands out the interface with a strict policy and nothing above it', async () => {
  await using folder = await temporaryFolder()
  const renderer = join(folder.path, 'renderer')
  mkdirSync(renderer)
  writeFileSync(join(renderer, 'index.html'), '<p>Hone</p>')
  writeFileSync(join(folder.path, 'secret.json'), '{}')
  const answer = createPageHandler(renderer)
  const page = await answer(new Request('hone://app/'))
  expect(await page.text()).toBe('<p>Hone</p>')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
  expect(page.headers.get('content-security-policy')).not.toContain('unsafe-eval')
  const statuses = await Promise.all(
    [
      'hone://app/%2e%2e/secret.json',
      'hone://app/..%2fsecret.json',
      'hone://app/%00.html',
      'hone://app/%E0%A4%A.html',
      'hone://other/index.html',
      'hone://app/missing.js',
    ].map(async (url) => (await answer(new Request(url))).status),
  )
  expect(statuses).toEqual([404, 403, 403, 403, 403, 404])
})

test('a child process under Electron is a utility process with messages, an end in words and a kill', () => {
  const electron = new FakeUtility()
  const child = utilityChildren(electron)('workers/trainer-process.worker.js', ['kernels'])
  expect(electron.forked).toMatchObject([
    {
      script: 'workers/trainer-process.worker.js',
      args: ['kernels'],
      options: { serviceName: 'Hone trainer' },
    },
  ])
  expect(child.pid).toBe(4711)
  const heard: unknown[] = []
  child.onMessage((message) => heard.push(message))
  child.onExit((end) => heard.push(end))
  child.send({ kind: 'close' })
  electron.emit('message', { kind: 'ready' })
  electron.emit('exit', 11)
  expect(electron.posted).toEqual([{ kind: 'close' }])
  expect(heard).toEqual([{ kind: 'ready' }, 'exit code 11'])
  child.kill()
  expect(electron.killed).toBe(true)
})
