import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../open.ts'
import { newSample, newTurn, testFolder, testStore } from '../test-store.ts'
import type { TestFolder } from '../test-store.ts'
import { migrations } from './index.ts'

const firstRows = `
INSERT INTO chats (id, title, created_at, updated_at, learn, active_leaf_id, deleted_at)
  VALUES ('chat-1', 'Old chat', 10, 20, 1, 'message-2', NULL);
INSERT INTO messages (id, chat_id, parent_id, role, text, status, error, turn_id, edit_of, created_at)
  VALUES ('message-1', 'chat-1', NULL, 'user', 'Explain osmosis.', 'complete', NULL, NULL, NULL, 11),
         ('message-2', 'chat-1', 'message-1', 'assistant', 'Water', 'streaming', NULL, NULL, NULL, 12),
         ('message-3', 'chat-1', 'message-1', 'wizard', 'a bad row', 'complete', NULL, NULL, NULL, 13);
INSERT INTO settings (name, value) VALUES ('scaffold', 'false'), ('noLongerKnown', '1');
`

const secondRows = `
INSERT INTO notes (id, text, scope, count, "check", state, learned_in, created_at, updated_at)
  VALUES ('note-1', 'Be short.', '{"kind":"everywhere"}', 2, NULL, 'prompt', NULL, 14, 15);
`

/** A file as an earlier Hone left it. */
function earlier(folder: TestFolder, version: number, rows: string): void {
  using database = new DatabaseSync(folder.file)
  for (const migration of migrations.slice(0, version)) database.exec(migration.sql)
  database.exec(`PRAGMA application_id = ${0x486f6e65}; PRAGMA user_version = ${version}`)
  database.exec(rows)
}

function backupVersions(folder: TestFolder): number[] {
  return readdirSync(join(folder.dir, 'backups')).map((name) => {
    using copy = new DatabaseSync(join(folder.dir, 'backups', name), { readOnly: true })
    expect(copy.prepare('SELECT title FROM chats').all()).toEqual([{ title: 'Old chat' }])
    return Number(copy.prepare('PRAGMA user_version').get()?.['user_version'])
  })
}

test('migrations are numbered from 1 without a gap', () => {
  expect(migrations.map(({ version }) => version)).toEqual([1, 2, 3, 4])
})

describe('0001 chats', () => {
  test('a file of version 1 is copied, migrated and read, bad row and unknown field included', () => {
    using folder = testFolder()
    earlier(folder, 1, firstRows)
    using env = testStore(folder)
    expect(env.store.chats()).toMatchObject([{ id: 'chat-1', title: 'Old chat', learn: true }])
    expect(env.store.path('message-2').map(({ text }) => text)).toEqual([
      'Explain osmosis.',
      'Water',
    ])
    expect(env.store.messages('chat-1')).toHaveLength(2)
    expect(env.store.closeInterrupted()).toBe(1)
    expect(env.store.settings()).toMatchObject({ scaffold: false, practice: true })
    expect(backupVersions(folder).sort()).toEqual([1, 2, 3])
  })
})

describe('0002 turns', () => {
  test('a file of version 2 keeps its notes and takes turns', () => {
    using folder = testFolder()
    earlier(folder, 2, firstRows + secondRows)
    using env = testStore(folder)
    expect(env.store.notes()).toMatchObject([{ id: 'note-1', count: 2, check: null }])
    const turn = env.store.addTurn(newTurn('chat-1'))
    expect(env.store.turns('chat-1')).toEqual([turn])
    expect(backupVersions(folder)).toEqual([2, 3])
  })
})

describe('0003 learning', () => {
  test('a file of version 3 takes samples and versions', () => {
    using folder = testFolder()
    earlier(folder, 3, firstRows + secondRows)
    using env = testStore(folder)
    env.store.addSample(newSample('sample-1'))
    expect(env.store.samples(['ready'])).toHaveLength(1)
    expect(env.store.nextVersion()).toBe(1)
    expect(backupVersions(folder)).toEqual([3])
  })
})

describe('0004 reward mask', () => {
  test('a file of the newest version is opened as it is, without a copy', () => {
    using folder = testFolder()
    earlier(folder, 4, firstRows + secondRows)
    using env = testStore(folder)
    expect(env.store.notes()).toHaveLength(1)
    expect(readdirSync(folder.dir)).not.toContain('backups')
  })

  test('a mask comes back as it was stored', () => {
    using folder = testFolder()
    using env = testStore(folder)
    const rewardMask = [true, false, true]
    env.store.addSample({ ...newSample('masked'), rewardMask })
    env.store.addSample(newSample('whole'))
    expect(env.store.sample('masked')?.sample.rewardMask).toEqual(rewardMask)
    expect(env.store.sample('whole')?.sample.rewardMask).toBeNull()
  })
})

test('a migration that fails leaves the file as it was, and the copy beside it', () => {
  using folder = testFolder()
  earlier(folder, 2, firstRows)
  const before = readFileSync(folder.file)
  const broken = [
    ...migrations.slice(0, 2),
    { version: 3, sql: 'CREATE TABLE half (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);' },
  ]
  const open = () => openDatabase({ dataDir: folder.dir, migrations: broken })
  expect(open).toThrow('no such table: nowhere')
  expect(backupVersions(folder)).toEqual([2])
  using database = new DatabaseSync(folder.file, { readOnly: true })
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 })
  expect(database.prepare(`SELECT * FROM sqlite_schema WHERE name = 'half'`).all()).toEqual([])
  expect(before.length).toBe(readFileSync(folder.file).length)
})

test('a new file needs no copies', () => {
  using folder = testFolder()
  using env = testStore(folder)
  expect(env.connection.get('PRAGMA user_version')).toEqual({ user_version: 4 })
  expect(env.connection.get('PRAGMA application_id')).toEqual({ application_id: 0x486f6e65 })
  expect(readdirSync(folder.dir)).not.toContain('backups')
})

test('every table is strict', () => {
  using env = testStore()
  const tables = env.connection.all(
    `SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'`,
  )
  expect(tables.length).toBeGreaterThan(15)
  expect(tables.filter(({ strict }) => strict !== 1)).toEqual([])
})
