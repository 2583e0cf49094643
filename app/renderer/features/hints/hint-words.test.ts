import { describe, expect, it } from 'vitest'
import type { Hint, Note } from '../../../shared/domain/hint.ts'
import { en } from '../../ui/messages/en.ts'
import { filterHints } from './hint-filter.ts'
import { checkWords, scopeWords, stateWords } from './note-words.ts'

const note: Note = {
  id: 'n',
  text: 'At most 40 words',
  scope: { kind: 'everywhere' },
  count: 1,
  check: { kind: 'max-words', words: 40 },
  state: 'prompt',
  learnedIn: null,
  createdAt: 0,
  updatedAt: 0,
}

describe('a note in words', () => {
  it('says what is checked, where it holds and how far it got', () => {
    expect(checkWords(note, en)).toBe('checked: at most 40 words')
    expect(checkWords({ ...note, check: null }, en)).toBe(en.hints.checks.none)
    expect(scopeWords(note, en)).toBe('everywhere')
    expect(stateWords({ ...note, state: 'learned', learnedIn: 7 }, en)).toBe('learned in v7')
    expect(stateWords({ ...note, state: 'learned' }, en)).toBe('learned')
    expect(stateWords(note, en)).toBe('in the prompt')
  })

  it('cuts a long example', () => {
    const requests = ['Explain '.repeat(30)]
    expect(scopeWords({ ...note, scope: { kind: 'similar', requests } }, en).length).toBeLessThan(
      80,
    )
    expect(scopeWords({ ...note, scope: { kind: 'similar', requests: [] } }, en)).toBe(
      'for similar requests',
    )
  })
})

it('filters by state, newest first', () => {
  const hint = (id: string, state: Hint['state'], createdAt: number) =>
    ({ id, state, createdAt }) as Hint
  const hints = [hint('a', 'vetoed', 1), hint('b', 'proposed', 2), hint('c', 'proposed', 3)]
  expect(filterHints(hints, 'proposed').map(({ id }) => id)).toEqual(['c', 'b'])
  expect(filterHints(hints, 'all').map(({ id }) => id)).toEqual(['c', 'b', 'a'])
})
