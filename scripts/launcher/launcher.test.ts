import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { appWindowArguments, findBrowser, type Surroundings } from './browser.ts'
import { findElectron, installedElectron } from './electron.ts'
import { isStale } from './renderer-build.ts'

const desk: Surroundings = {
  platform: 'linux',
  environment: { PATH: '/usr/local/bin:/usr/bin', DISPLAY: ':0' },
  isRoot: false,
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

test('a browser on the PATH is found, Chromium before Edge', () => {
  const here = ['/usr/bin/microsoft-edge', '/usr/bin/chromium']
  const choice = findBrowser({ ...desk, exists: (path) => here.includes(path) })
  expect(choice).toEqual({ kind: 'found', program: '/usr/bin/chromium' })
})

test.each([
  ['macOS', { platform: 'darwin', environment: {}, isRoot: false }, 'Google Chrome'],
  [
    'Windows',
    { platform: 'win32', environment: { ProgramFiles: 'C:\\Programs' }, isRoot: false },
    'chrome.exe',
  ],
] as const)('on %s the usual places are looked at', (_name, around, ending) => {
  const choice = findBrowser({ ...around, exists: (path) => path.endsWith(ending) })
  expect(choice).toMatchObject({
    kind: 'found',
    program: expect.stringContaining(ending) as string,
  })
})

test.each([
  ['root', { ...desk, isRoot: true }, 'root'],
  ['a machine without a display', { ...desk, environment: { PATH: '/usr/bin' } }, 'no display'],
  ['a machine without a browser', { ...desk, exists: () => false }, 'no Chromium'],
])('%s gets the address instead, with the reason', (_name, around, reason) => {
  const choice = findBrowser({ exists: () => true, ...around })
  expect(choice).toMatchObject({ kind: 'none', reason: expect.stringContaining(reason) as string })
})

test('the window shows one page with a profile of its own and keeps the sandbox', () => {
  const args = appWindowArguments('http://127.0.0.1:1/?token=x', '/data')
  expect(args[0]).toBe('--app=http://127.0.0.1:1/?token=x')
  expect(args).toContain(`--user-data-dir=${join('/data', 'browser')}`)
  expect(args.join(' ')).not.toContain('no-sandbox')
})

test('Electron counts as installed only when its program is there', async () => {
  await using folder = await temporaryFolder()
  const electron = join(folder.path, 'node_modules/electron')
  expect(installedElectron(folder.path)).toBeNull()
  write(join(electron, 'path.txt'), 'electron')
  expect(installedElectron(folder.path)).toBeNull()
  write(join(electron, 'dist/electron'), '')
  expect(installedElectron(folder.path)).toBe(join(electron, 'dist/electron'))
})

test('a failed fetch of Electron is said once and not tried again at the next start', async () => {
  await using folder = await temporaryFolder()
  const script = join(folder.path, 'node_modules/electron/install.js')
  write(script, "require('node:fs').appendFileSync(__dirname + '/tries', 'x'); process.exit(1)")
  write(join(folder.path, 'node_modules/electron/package.json'), '{}')
  const said: string[] = []
  const search = { root: folder.path, environment: {}, say: (it: string) => said.push(it) }
  expect(await findElectron(search)).toBeNull()
  expect(said.join(' ')).toContain('opens in the browser instead')
  said.length = 0
  expect(await findElectron(search)).toBeNull()
  expect(said).toEqual([])
})

test('an installer that works gives the program', async () => {
  await using folder = await temporaryFolder()
  const electron = join(folder.path, 'node_modules/electron')
  write(join(electron, 'package.json'), '{}')
  const code = [
    "const fs = require('node:fs')",
    "fs.mkdirSync(__dirname + '/dist')",
    "fs.writeFileSync(__dirname + '/dist/electron', '')",
    "fs.writeFileSync(__dirname + '/path.txt', 'electron')",
  ]
  write(join(electron, 'install.js'), code.join('\n'))
  const found = await findElectron({ root: folder.path, environment: {}, say: () => undefined })
  expect(found).toBe(join(electron, 'dist/electron'))
  const without = { HONE_NO_ELECTRON: '1' }
  const search = { root: folder.path, environment: without, say: () => undefined }
  expect(await findElectron(search)).toBeNull()
})

test('the interface is built when it is missing or older than a source', async () => {
  await using folder = await temporaryFolder()
  const page = join(folder.path, 'out/renderer/index.html')
  const source = join(folder.path, 'app/renderer/features/chat/chat.tsx')
  write(source, '')
  utimesSync(source, 1000, 1000)
  expect(isStale(folder.path)).toBe(true)
  write(page, '')
  expect(isStale(folder.path)).toBe(false)
  utimesSync(page, 999, 999)
  expect(isStale(folder.path)).toBe(true)
})
