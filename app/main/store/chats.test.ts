import { describe, expect, test } from 'vitest'
import { testStore, userMessage } from './test-store.ts'

describe('chats', () => {
  test('a new chat learns, has no title and can be found', () => {
    using env = testStore()
    const chat = env.store.createChat()
    expect(chat).toMatchObject({ title: '', learn: true, activeLeafId: null, deletedAt: null })
    expect(env.store.chat(chat.id)).toEqual(chat)
    expect(env.store.chat('unknown')).toBeNull()
  })

  test('the list shows the chat with the newest message first and leaves out the trash', () => {
    using env = testStore()
    const [first, second, third] = [
      env.store.createChat(),
      env.store.createChat(),
      env.store.createChat(),
    ]
    env.store.addMessage(userMessage(first.id, null, 'again'))
    env.store.updateChat(second.id, { deletedAt: 7 })
    expect(env.store.chats().map(({ id }) => id)).toEqual([first.id, third.id])
    expect(env.store.chat(second.id)?.deletedAt).toBe(7)
  })

  test('looking at another branch does not move the chat up', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const message = env.store.addMessage(userMessage(chat.id, null, 'a'))
    const newer = env.store.createChat()
    const changed = env.store.updateChat(chat.id, { activeLeafId: message.id })
    expect(changed.activeLeafId).toBe(message.id)
    expect(env.store.chats().map(({ id }) => id)).toEqual([newer.id, chat.id])
  })

  test('title and learning can be changed', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const changed = env.store.updateChat(chat.id, { title: 'Ärger 漢字', learn: false })
    expect(changed).toMatchObject({ title: 'Ärger 漢字', learn: false })
    expect(env.store.chat(chat.id)).toEqual(changed)
  })

  test('a chat that is not there cannot be changed', () => {
    using env = testStore()
    expect(() => env.store.updateChat('nobody', { title: 'x' })).toThrow('there is no chat nobody')
  })
})

describe('messages', () => {
  test('a message keeps every field, also zero bytes and a megabyte of text', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const text = `a\u0000b${'好'.repeat(350_000)}`
    const message = env.store.addMessage({
      ...userMessage(chat.id, null, text),
      role: 'assistant',
      status: 'failed',
      error: 'the model stopped',
      turnId: 'turn-9',
    })
    expect(env.store.message(message.id)).toEqual(message)
    expect(message.text).toBe(text)
  })

  test('a path goes from the root to the leaf and leaves out siblings', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const root = env.store.addMessage(userMessage(chat.id, null, 'root'))
    const one = env.store.addMessage(userMessage(chat.id, root.id, 'one'))
    const two = env.store.addMessage(userMessage(chat.id, root.id, 'two'))
    expect(env.store.path(two.id)).toEqual([root, two])
    expect(env.store.messages(chat.id)).toEqual([root, one, two])
    expect(env.store.path('unknown')).toEqual([])
  })

  test('a circle of parents in a damaged file does not hang', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const root = env.store.addMessage(userMessage(chat.id, null, 'root'))
    const leaf = env.store.addMessage(userMessage(chat.id, root.id, 'leaf'))
    env.connection.run('UPDATE messages SET parent_id = ? WHERE id = ?', leaf.id, root.id)
    expect(env.store.path(leaf.id).map(({ id }) => id)).toEqual([root.id, leaf.id])
  })

  test('a parent of another chat, an unknown parent and an unknown chat are refused', () => {
    using env = testStore()
    const [chat, other] = [env.store.createChat(), env.store.createChat()]
    const foreign = env.store.addMessage(userMessage(other.id, null, 'a'))
    const add = (chatId: string, parentId: string | null) => () =>
      env.store.addMessage(userMessage(chatId, parentId, 'b'))
    expect(add(chat.id, foreign.id)).toThrow('belongs to another chat')
    expect(add(chat.id, 'nothing')).toThrow('there is no message nothing')
    expect(add('nowhere', null)).toThrow('there is no chat nowhere')
    expect(() => env.store.updateChat(chat.id, { activeLeafId: foreign.id })).toThrow(
      'another chat',
    )
    expect(env.store.messages(chat.id)).toEqual([])
  })

  test('text grows while it streams; after a crash the message reads as interrupted', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const streaming = { ...userMessage(chat.id, null, ''), status: 'streaming' } as const
    const message = env.store.addMessage(streaming)
    env.store.updateMessage(message.id, { text: 'so far' })
    expect(env.store.closeInterrupted()).toBe(1)
    expect(env.store.closeInterrupted()).toBe(0)
    expect(env.store.message(message.id)).toMatchObject({ text: 'so far', status: 'interrupted' })
  })

  test('a status outside the list is refused with its field', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const message = env.store.addMessage(userMessage(chat.id, null, 'a'))
    const change = { status: 'lost' } as unknown as { status: 'complete' }
    expect(() => env.store.updateMessage(message.id, change)).toThrow('status')
    expect(env.store.message(message.id)).toEqual(message)
  })
})
