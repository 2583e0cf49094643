import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from './index.ts'
import { takeLock } from './lock.ts'
import { testFolder } from './test-store.ts'

const busy = (words: string) =>
  expect.objectContaining({ code: 'busy', message: expect.stringContaining(words) as string })

/** Another process that holds the folder until it is killed. */
async function holder(dataDir: string): Promise<ChildProcess> {
  const script = `
    import { openStore } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
    globalThis.store = openStore({ dataDir: ${JSON.stringify(dataDir)} })
    console.log('open')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

test('a second opening in the same process is busy, and a third after the first has closed is not', () => {
  using folder = testFolder()
  {
    using store = openStore({ dataDir: folder.dir })
    expect(() => openStore({ dataDir: folder.dir })).toThrow(busy(`process ${process.pid}`))
    expect(store.chats()).toEqual([])
  }
  expect(existsSync(join(folder.dir, 'hone.lock'))).toBe(false)
  using again = openStore({ dataDir: folder.dir })
  expect(again.chats()).toEqual([])
})

test('the same folder under another name is busy too', () => {
  using folder = testFolder()
  const dataDir = join(folder.dir, 'data')
  using store = openStore({ dataDir })
  symlinkSync(dataDir, join(folder.dir, 'alias'))
  expect(() => openStore({ dataDir: join(folder.dir, 'alias') })).toThrow(busy('in use'))
  expect(store.chats()).toEqual([])
})

test('a folder that another process has open is busy until that process is dead', async () => {
  using folder = testFolder()
  const child = await holder(folder.dir)
  try {
    expect(() => openStore({ dataDir: folder.dir })).toThrow(busy(`process ${child.pid}`))
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  expect(existsSync(join(folder.dir, 'hone.lock'))).toBe(true)
  using store = openStore({ dataDir: folder.dir })
  expect(store.chats()).toEqual([])
  expect(readdirSync(folder.dir).filter((name) => name.startsWith('hone.lock'))).toEqual([
    'hone.lock',
  ])
})

test('the lock of an earlier process with our own number is stale', () => {
  using folder = testFolder()
  writeFileSync(join(folder.dir, 'hone.lock'), JSON.stringify({ pid: process.pid, birth: null }))
  using lock = takeLock(folder.dir)
  expect(lock).toBeDefined()
})

test.skipIf(process.platform !== 'linux')(
  'the lock of an earlier process whose number another one has now is stale (Linux only)',
  () => {
    using folder = testFolder()
    const path = join(folder.dir, 'hone.lock')
    writeFileSync(path, JSON.stringify({ pid: process.ppid, birth: 'an earlier start' }))
    using lock = takeLock(folder.dir)
    expect(lock).toBeDefined()
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid })
  },
)

test('a lock of a living process without a known start is respected', () => {
  using folder = testFolder()
  const content = JSON.stringify({ pid: process.ppid, birth: null })
  writeFileSync(join(folder.dir, 'hone.lock'), content)
  expect(() => takeLock(folder.dir)).toThrow(busy(`process ${process.ppid}`))
  expect(readFileSync(join(folder.dir, 'hone.lock'), 'utf8')).toBe(content)
})

test('a lock without content is taken over only when it is old', () => {
  using folder = testFolder()
  const path = join(folder.dir, 'hone.lock')
  writeFileSync(path, '')
  expect(() => takeLock(folder.dir)).toThrow(busy('another process'))
  utimesSync(path, 1, 1)
  using lock = takeLock(folder.dir)
  expect(lock).toBeDefined()
})
