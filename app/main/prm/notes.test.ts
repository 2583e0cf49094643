import { expect, test } from 'vitest'
import type { Note } from '../../shared/domain/hint.ts'
import { inScope, mergeHint } from './notes.ts'

function note(part: Partial<Note>): Note {
  return {
    id: 'n1',
    text: 'At most 40 words.',
    scope: { kind: 'similar', requests: ['Explain osmosis.'] },
    count: 1,
    check: { kind: 'max-words', words: 40 },
    state: 'prompt',
    learnedIn: null,
    createdAt: 0,
    updatedAt: 0,
    ...part,
  }
}

const about = { request: 'Explain osmosis.', reply: 'word '.repeat(100) }

test('a first wish makes a note with a check for its kind of request', () => {
  expect(mergeHint([], { ...about, text: 'At most 40 words.' })).toEqual({
    kind: 'new',
    text: 'At most 40 words.',
    check: { kind: 'max-words', words: 40 },
    scope: { kind: 'similar', requests: ['Explain osmosis.'] },
    contradicts: [],
  })
})

test('"shorter" is measured against the reply it was said about', () => {
  const change = mergeHint([], { ...about, text: 'Keep the answer shorter.' })
  expect(change).toMatchObject({ kind: 'new', check: { kind: 'max-words', words: 60 } })
})

test('the same wish in other words is counted, not stored again', () => {
  const change = mergeHint([note({ count: 4 })], {
    ...about,
    text: 'Use 40 words or less, please.',
  })
  expect(change).toEqual({
    kind: 'merge',
    noteId: 'n1',
    count: 5,
    scope: { kind: 'similar', requests: ['Explain osmosis.'] },
    revives: false,
  })
})

test('the same wish about another kind of request widens the note', () => {
  const change = mergeHint([note({})], {
    text: 'At most 40 words.',
    request: 'Translate the poem.',
    reply: '',
  })
  expect(change).toMatchObject({
    kind: 'merge',
    scope: { kind: 'similar', requests: ['Explain osmosis.', 'Translate the poem.'] },
  })
})

test('a wish that was switched off and is said again is revived', () => {
  const change = mergeHint([note({ state: 'off' })], { ...about, text: 'At most 40 words.' })
  expect(change).toMatchObject({ kind: 'merge', noteId: 'n1', revives: true })
})

test('"shorter" said twice is one note although the replies differ in length', () => {
  const shorter = note({
    text: 'Keep the answer shorter.',
    check: { kind: 'max-words', words: 60 },
  })
  const change = mergeHint([shorter], {
    ...about,
    text: 'Make it shorter.',
    reply: 'word '.repeat(30),
  })
  expect(change).toMatchObject({ kind: 'merge', noteId: 'n1' })
})

test('a contradicting wish is a new note that names the old one', () => {
  expect(mergeHint([note({})], { ...about, text: 'At least 100 words.' })).toMatchObject({
    kind: 'new',
    contradicts: ['n1'],
  })
})

test('a wish about another kind of request contradicts nothing', () => {
  const change = mergeHint([note({})], {
    text: 'At least 100 words.',
    request: "Comment on my pupil's essay.",
    reply: 'Good.',
  })
  expect(change).toMatchObject({ kind: 'new', contradicts: [] })
})

const similar = (...requests: string[]) => ({ kind: 'similar' as const, requests })

test.each([
  { scope: { kind: 'everywhere' as const }, request: 'Translate this.', chatId: 'c2', holds: true },
  { scope: { kind: 'chat' as const, chatId: 'c1' }, request: 'Hi', chatId: 'c1', holds: true },
  { scope: { kind: 'chat' as const, chatId: 'c1' }, request: 'Hi', chatId: 'c2', holds: false },
  { scope: similar('Explain osmosis.'), request: 'Explain inflation.', chatId: 'c2', holds: true },
  { scope: similar('Explain osmosis.'), request: 'Translate this.', chatId: 'c2', holds: false },
  { scope: similar(), request: 'Explain osmosis.', chatId: 'c2', holds: false },
])('scope is decided by kind, chat and request: %j', ({ scope, request, chatId, holds }) => {
  expect(inScope(note({ scope }), request, chatId)).toBe(holds)
})
