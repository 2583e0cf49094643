import { expect, test } from 'vitest'
import type { NextState } from '../../../shared/contract/prm.ts'
import type { Note } from '../../../shared/domain/hint.ts'
import { proposeHints } from './propose.ts'

const longReply = 'Osmosis is the movement of water through a membrane. '.repeat(10)

function stateOf(part: Partial<NextState>): NextState {
  return { request: 'Explain osmosis.', reply: longReply, messages: [], signals: [], ...part }
}

function note(part: Partial<Note>): Note {
  return {
    id: 'n1',
    text: 'At most 40 words.',
    scope: { kind: 'similar', requests: ['Explain inflation.'] },
    count: 1,
    check: { kind: 'max-words', words: 40 },
    state: 'prompt',
    learnedIn: null,
    createdAt: 0,
    updatedAt: 0,
    ...part,
  }
}

const rest = { notes: [], judged: null, accepted: false }

test('the same wish said fifty times is proposed once', () => {
  const messages = Array.from({ length: 50 }, () => ({
    role: 'user' as const,
    text: 'Please use plain sentences.',
  }))
  const hints = proposeHints({ ...rest, state: stateOf({ messages }) })
  expect(hints.map(({ text, source }) => [text, source])).toEqual([
    ['Use plain sentences.', 'extracted'],
  ])
})

test('a thumb down with words proposes them, a thumb up with bare praise does not', () => {
  const thumb = (value: 1 | -1, text: string): NextState =>
    stateOf({ signals: [{ kind: 'thumb', value, text }] })
  expect(proposeHints({ ...rest, state: thumb(-1, 'no bullet points please') })).toMatchObject([
    { text: 'No bullet points.', source: 'thumb', quote: 'no bullet points please' },
  ])
  expect(
    proposeHints({ ...rest, accepted: true, state: thumb(1, 'good; shorter next time') }),
  ).toMatchObject([{ source: 'thumb' }])
  expect(proposeHints({ ...rest, accepted: true, state: thumb(1, 'lovely!') })).toEqual([])
})

test('a violated note is proposed for its kind of request, a kept one is not', () => {
  const state = stateOf({ messages: [{ role: 'user', text: 'hm' }] })
  const sources = (notes: Note[], given = state): string[] =>
    proposeHints({ ...rest, notes, state: given }).map(({ source }) => source)
  expect(sources([note({})])).toEqual(['note'])
  expect(sources([note({ state: 'off' })])).toEqual([])
  expect(sources([note({ check: null })])).toEqual([])
  expect(sources([note({ scope: { kind: 'similar', requests: ['Translate this.'] } })])).toEqual([])
  expect(sources([note({})], { ...state, reply: 'Water moves.' })).toEqual([])
})

test('what the user says comes before the note that says the same', () => {
  const state = stateOf({ messages: [{ role: 'user', text: 'At most 40 words!' }] })
  const hints = proposeHints({ ...rest, notes: [note({})], state })
  expect(hints.map(({ source }) => source)).toEqual(['extracted'])
})

test('an accepted reply brings no hints but those typed with a thumb', () => {
  const state = stateOf({ messages: [{ role: 'user', text: 'Please use plain sentences.' }] })
  expect(proposeHints({ ...rest, accepted: true, notes: [note({})], state })).toEqual([])
})

test('secrets are masked in text and quote, and the hint is vetoed', () => {
  const state = stateOf({
    messages: [{ role: 'user', text: 'Please use the name mia@example.org in the greeting.' }],
  })
  const [hint] = proposeHints({ ...rest, state })
  expect(hint?.text).not.toContain('mia@')
  expect(hint?.quote).not.toContain('mia@')
  expect(hint?.quality).toBe(0)
})

test('an edit that drops the list and most words becomes wishes about form', () => {
  const state = stateOf({
    reply: `- ${longReply}\n- ${longReply}`,
    signals: [{ kind: 'edit', text: 'Osmosis is water moving through a membrane.' }],
  })
  expect(proposeHints({ ...rest, state }).map(({ text, source }) => [text, source])).toEqual([
    ['Do not use lists.', 'edit'],
    ['Use at most 10 words.', 'edit'],
  ])
})
