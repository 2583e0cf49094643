import { expect, it } from 'vitest'
import type { ChatView } from '../../../shared/contract/app.ts'
import type { Note } from '../../../shared/domain/hint.ts'
import { notesInUse, sessionsSoFar } from './rail-numbers.ts'

const session = (
  chatId: string,
  startedAt: number,
  [accepted, firstReplies]: [number, number],
) => ({
  chatId,
  title: '',
  startedAt,
  version: 0,
  firstReplies,
  accepted,
  rejected: firstReplies - accepted,
})

it('sets the open chat against those before it, not those after', () => {
  const all = [
    session('a', 1, [1, 4]),
    session('b', 2, [2, 4]),
    session('c', 3, [4, 5]),
    session('d', 4, [0, 9]),
  ]
  expect(sessionsSoFar(all, 'c')).toEqual({
    now: { accepted: 4, total: 5 },
    before: { accepted: 3, total: 8 },
  })
  expect(sessionsSoFar(all, null).now).toEqual({ accepted: 0, total: 0 })
})

const note = (id: string, scope: Note['scope'], state: Note['state'] = 'prompt'): Note => ({
  id,
  text: id,
  scope,
  count: 1,
  check: null,
  state,
  learnedIn: null,
  createdAt: 0,
  updatedAt: 0,
})

it('shows notes that reach the chat, and none that are off', () => {
  const notes = [
    note('all', { kind: 'everywhere' }),
    note('off', { kind: 'everywhere' }, 'off'),
    note('other', { kind: 'chat', chatId: 'x' }),
    note('similar', { kind: 'similar', requests: ['Explain'] }),
  ]
  expect(notesInUse(notes, null).map(({ note: shown }) => shown.id)).toEqual(['all', 'similar'])
})

it('shows a note about requests in the chat where its request was made', () => {
  const request = { role: 'user', text: 'Explain', turn: null }
  const view = { chat: { id: 'c' }, messages: [request] } as unknown as ChatView
  const notes = [
    note('here', { kind: 'similar', requests: ['Explain'] }),
    note('elsewhere', { kind: 'similar', requests: ['Write a shell command'] }),
  ]
  expect(notesInUse(notes, view).map(({ note: shown }) => shown.id)).toEqual(['here'])
})
