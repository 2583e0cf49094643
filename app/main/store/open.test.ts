import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { openStore } from './index.ts'
import { testFolder, testStore, userMessage } from './test-store.ts'
import type { TestFolder } from './test-store.ts'

const failsWith = (code: string, words: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(words) as string })

function fillStore(folder: TestFolder): string {
  using env = testStore(folder)
  const chat = env.store.createChat()
  env.store.addMessage(userMessage(chat.id, null, 'kept'))
  return chat.id
}

describe('opening a data folder', () => {
  test('creates the folder and uses the real clock', () => {
    using folder = testFolder()
    const dataDir = join(folder.dir, 'über', 'data folder')
    const before = Date.now()
    using store = openStore({ dataDir })
    expect(store.createChat().createdAt).toBeGreaterThanOrEqual(before)
    expect(store.readOnlyReason()).toBeNull()
    expect(readdirSync(dataDir)).toContain('hone.db')
  })

  test('writes with WAL and waits for the disk', () => {
    using env = testStore()
    expect(env.connection.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    expect(env.connection.get('PRAGMA synchronous')).toEqual({ synchronous: 2 })
  })

  test('an empty file is a new store', () => {
    using folder = testFolder()
    writeFileSync(folder.file, '')
    using env = testStore(folder)
    expect(env.store.chats()).toEqual([])
  })

  test('a file in the place of the folder is named', () => {
    using folder = testFolder()
    const dataDir = join(folder.dir, 'file')
    writeFileSync(dataDir, 'x')
    expect(() => openStore({ dataDir })).toThrow(failsWith('invalid-input', 'it is a file'))
  })
})

describe('a file that is not a sound database of Hone', () => {
  /** Opening fails, the file keeps its bytes, and the folder is free again. */
  function expectRefusal(folder: TestFolder, code: string, words: string): void {
    const before = readFileSync(folder.file)
    expect(() => openStore({ dataDir: folder.dir })).toThrow(failsWith(code, words))
    expect(readFileSync(folder.file).equals(before)).toBe(true)
    expect(existsSync(join(folder.dir, 'hone.lock'))).toBe(false)
  }

  test('other text is corrupt and stays', () => {
    using folder = testFolder()
    writeFileSync(folder.file, 'these are my tax papers')
    expectRefusal(folder, 'corrupt', 'is not an SQLite database')
  })

  test('the database of another program is corrupt and stays', () => {
    using folder = testFolder()
    {
      using other = new DatabaseSync(folder.file)
      other.exec('CREATE TABLE contacts (name TEXT)')
    }
    expectRefusal(folder, 'corrupt', 'a database of another program')
  })

  test('a database cut short is corrupt and stays', () => {
    using folder = testFolder()
    fillStore(folder)
    truncateSync(folder.file, statSync(folder.file).size - 8192)
    expectRefusal(folder, 'corrupt', 'is damaged')
  })

  test('a database with overwritten pages is corrupt and stays', () => {
    using folder = testFolder()
    fillStore(folder)
    const bytes = readFileSync(folder.file)
    bytes.fill(0xab, 4096)
    writeFileSync(folder.file, bytes)
    expectRefusal(folder, 'corrupt', 'is damaged')
  })

  test('a database whose one damaged page no query of the start looks at is corrupt and stays', () => {
    using folder = testFolder()
    fillStore(folder)
    const bytes = readFileSync(folder.file)
    bytes.fill(0xab, bytes.length - 4096)
    writeFileSync(folder.file, bytes)
    expectRefusal(folder, 'corrupt', 'is damaged')
  })

  test('a database of a newer Hone is unsupported and stays', () => {
    using folder = testFolder()
    fillStore(folder)
    {
      using newer = new DatabaseSync(folder.file)
      newer.exec('PRAGMA user_version = 99')
    }
    expectRefusal(folder, 'unsupported', 'made by a newer Hone')
  })
})

const canDropRights = process.platform !== 'win32'

describe.skipIf(!canDropRights)('a folder that cannot be written (needs Unix permissions)', () => {
  const nobody = 65_534

  /** Runs `work` without the right to write into the folder, also when the tests run as root. */
  function withoutRights(folder: TestFolder, work: () => void): void {
    for (const name of readdirSync(folder.dir)) chmodSync(join(folder.dir, name), 0o444)
    chmodSync(folder.dir, 0o555)
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(nobody)
    try {
      work()
    } finally {
      if (isRoot) process.seteuid?.(0)
      chmodSync(folder.dir, 0o755)
    }
  }

  test('can be read, says why nothing can be written, and refuses to write', () => {
    using folder = testFolder()
    const chatId = fillStore(folder)
    withoutRights(folder, () => {
      using store = openStore({ dataDir: folder.dir })
      expect(store.readOnlyReason()).toContain('permission is denied')
      expect(store.messages(chatId).map(({ text }) => text)).toEqual(['kept'])
      expect(() => store.createChat()).toThrow(failsWith('read-only', 'permission is denied'))
      expect(() => store.setValue('a', 1)).toThrow(failsWith('read-only', 'permission is denied'))
      expect(store.closeInterrupted()).toBe(0)
      expect(store.closeInterruptedRuns()).toEqual([])
      expect(store.chats()).toHaveLength(1)
    })
  })

  test('can be read with what a crash left in the log', () => {
    using folder = testFolder()
    using live = testStore()
    const chat = live.store.createChat()
    live.store.addMessage(userMessage(chat.id, null, 'only in the log'))
    for (const end of ['', '-wal', '-shm']) {
      copyFileSync(join(live.dir, `hone.db${end}`), `${folder.file}${end}`)
    }
    expect(statSync(`${folder.file}-wal`).size).toBeGreaterThan(0)
    withoutRights(folder, () => {
      using store = openStore({ dataDir: folder.dir })
      expect(store.messages(chat.id).map(({ text }) => text)).toEqual(['only in the log'])
    })
  })

  test('keeps a bad row out of the list although it cannot be moved', () => {
    using folder = testFolder()
    fillStore(folder)
    {
      using env = testStore(folder)
      env.store.createChat()
      env.connection.run('UPDATE chats SET learn = 7 WHERE seq = 1')
    }
    withoutRights(folder, () => {
      using store = openStore({ dataDir: folder.dir })
      expect(store.chats()).toHaveLength(1)
    })
  })

  test('without a database in it cannot be used', () => {
    using folder = testFolder()
    withoutRights(folder, () => {
      const open = () => openStore({ dataDir: folder.dir })
      expect(open).toThrow(failsWith('read-only', 'permission is denied'))
    })
    rmSync(folder.dir, { recursive: true })
  })
})
