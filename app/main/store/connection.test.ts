import { describe, expect, test } from 'vitest'
import { appendEvent, listEvents } from './events.ts'
import { testStore, userMessage } from './test-store.ts'

/** Lets the file grow by a few pages only: SQLite then fails exactly as on a full disk. */
function fillDisk(env: ReturnType<typeof testStore>): void {
  const pages = Number(env.connection.get('PRAGMA page_count')?.['page_count'])
  env.connection.get(`PRAGMA max_page_count = ${pages + 2}`)
}

const big = 'x'.repeat(200_000)

describe('transactions', () => {
  test('an inner transaction that fails leaves what the outer one wrote', () => {
    using env = testStore()
    env.store.transaction(() => {
      env.store.createChat()
      const inner = () =>
        env.store.transaction(() => {
          env.store.createChat()
          throw new Error('inner')
        })
      expect(inner).toThrow('inner')
      env.store.createChat()
    })
    expect(env.store.chats()).toHaveLength(2)
  })

  test('an outer transaction that fails takes the inner ones back', () => {
    using env = testStore()
    const outer = () =>
      env.store.transaction(() => {
        env.store.transaction(() => env.store.transaction(() => env.store.createChat()))
        throw new Error('outer')
      })
    expect(outer).toThrow('outer')
    expect(env.store.chats()).toEqual([])
    expect(env.store.transaction(() => env.store.createChat())).toEqual(env.store.chats()[0])
  })

  test('a promise is refused, since its work would run outside', () => {
    using env = testStore()
    const wait = () =>
      env.store.transaction(() => {
        env.store.createChat()
        return Promise.resolve()
      })
    expect(wait).toThrow('cannot wait for a promise')
    expect(env.store.chats()).toEqual([])
  })
})

describe('a full disk', () => {
  test('is a named error; what was there stays readable and the next write that fits clears it', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const kept = env.store.addMessage(userMessage(chat.id, null, 'kept'))
    expect(env.store.readOnlyReason()).toBeNull()
    fillDisk(env)
    const write = () => env.store.addMessage(userMessage(chat.id, kept.id, big))
    expect(write).toThrow(expect.objectContaining({ code: 'disk-full' }))
    expect(env.store.readOnlyReason()).toContain('the disk is full')
    expect(env.store.messages(chat.id)).toEqual([kept])
    env.connection.get('PRAGMA max_page_count = 1000000')
    const added = env.store.addMessage(userMessage(chat.id, kept.id, big))
    expect(env.store.readOnlyReason()).toBeNull()
    expect(env.store.path(added.id)).toEqual([kept, added])
  })

  test('in the middle of a transaction takes all of it back', () => {
    using env = testStore()
    const chat = env.store.createChat()
    fillDisk(env)
    const both = () =>
      env.store.transaction(() => {
        env.store.addMessage(userMessage(chat.id, null, 'first'))
        env.store.addMessage(userMessage(chat.id, null, big))
      })
    expect(both).toThrow(expect.objectContaining({ code: 'disk-full' }))
    expect(env.store.messages(chat.id)).toEqual([])
  })
})

test('after SQLite gave up a transaction nothing more is written outside of one', () => {
  using env = testStore()
  const chat = env.store.createChat()
  const careless = () =>
    env.store.transaction(() => {
      env.connection.run('ROLLBACK')
      expect(() => env.store.updateChat(chat.id, { title: 'outside' })).toThrow('ended too early')
      expect(() => env.connection.run('UPDATE chats SET title = 1')).toThrow('ended too early')
    })
  expect(careless).toThrow('ended too early')
  expect(env.store.chat(chat.id)?.title).toBe('')
  expect(env.store.updateChat(chat.id, { title: 'again' }).title).toBe('again')
})

test('events cannot be changed or removed', () => {
  using env = testStore()
  appendEvent(env.connection, { kind: 'note-added', subject: 'note-1' })
  expect(() => env.connection.run(`UPDATE events SET subject = 'x'`)).toThrow('append-only')
  expect(() => env.connection.run('DELETE FROM events')).toThrow('append-only')
  expect(listEvents(env.connection)).toHaveLength(1)
})
