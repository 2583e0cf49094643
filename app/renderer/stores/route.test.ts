import { expect, it } from 'vitest'
import { hrefOf, parseHash } from './route.ts'

it('reads pages and chats from the address', () => {
  expect(parseHash('#/learning')).toEqual({ page: 'learning', chatId: null })
  expect(parseHash('#/chat/a%2Fb')).toEqual({ page: 'chat', chatId: 'a/b' })
  expect(parseHash('#/hints/x')).toEqual({ page: 'hints', chatId: null })
})

it('shows the chat for an address that means nothing', () => {
  for (const hash of ['', '#', '#/', '#/nowhere']) {
    expect(parseHash(hash)).toEqual({ page: 'chat', chatId: null })
  }
})

it('writes what it can read', () => {
  expect(parseHash(hrefOf('chat', 'ä b/#'))).toEqual({ page: 'chat', chatId: 'ä b/#' })
})
