import { describe, expect, test } from 'vitest'
import type { Note } from '../../shared/domain/hint.ts'
import { listEvents } from './events.ts'
import { proposal, testStore } from './test-store.ts'

const turn = { id: 'turn-1', chatId: 'chat-1' }
const newNote: Omit<Note, 'id' | 'createdAt' | 'updatedAt'> = {
  text: 'Use at most 40 words.',
  scope: { kind: 'similar', requests: ['explain osmosis'] },
  count: 1,
  check: { kind: 'max-words', words: 40 },
  state: 'prompt',
  learnedIn: null,
}

describe('hints', () => {
  test('proposals become hints that nobody has decided on', () => {
    using env = testStore()
    const added = env.store.addHints(turn, [proposal('Be short.'), proposal('No lists.')])
    expect(added[0]).toMatchObject({
      state: 'proposed',
      decidedBy: null,
      decidedAt: null,
      shownMs: 0,
    })
    const later = env.store.addHints({ id: 'turn-2', chatId: 'chat-1' }, [proposal('Be kind.')])
    expect(env.store.hintsOf(turn.id)).toEqual(added)
    expect(env.store.hints()).toEqual([...added, ...later])
    expect(env.store.hint(added[0]?.id ?? '')).toEqual(added[0])
    expect(env.store.hint('none')).toBeNull()
  })

  test('a decision gets its time and an event; taking it back clears both', () => {
    using env = testStore()
    const [hint] = env.store.addHints(turn, [proposal('Be short.')])
    const id = hint?.id ?? ''
    const vetoed = env.store.updateHint(id, { state: 'vetoed', decidedBy: 'user' })
    expect(vetoed.decidedAt).toBeTypeOf('number')
    const back = env.store.updateHint(id, { state: 'proposed' })
    expect(back).toMatchObject({ state: 'proposed', decidedBy: null, decidedAt: null })
    expect(env.store.hint(id)).toEqual(back)
    expect(listEvents(env.connection).map(({ kind, detail }) => [kind, detail])).toEqual([
      ['hint-decided', { from: 'proposed', to: 'vetoed', by: 'user' }],
      ['hint-decided', { from: 'vetoed', to: 'proposed', by: null }],
    ])
  })

  test('shown time and note change without being a decision', () => {
    using env = testStore()
    const [hint] = env.store.addHints(turn, [proposal('Be short.')])
    const changed = env.store.updateHint(hint?.id ?? '', { shownMs: 1500.5, noteId: 'note-1' })
    expect(changed).toMatchObject({ shownMs: 1500.5, noteId: 'note-1', decidedAt: null })
    expect(listEvents(env.connection)).toEqual([])
    expect(() => env.store.updateHint('none', { shownMs: 1 })).toThrow('there is no hint none')
  })
})

describe('notes', () => {
  test('a note keeps its scope and its check', () => {
    using env = testStore()
    const note = env.store.addNote(newNote)
    expect(env.store.note(note.id)).toEqual(note)
    const other = env.store.addNote({ ...newNote, check: null, scope: { kind: 'everywhere' } })
    expect(env.store.notes()).toEqual([note, other])
  })

  test('a change keeps the rest and moves the time on', () => {
    using env = testStore()
    const note = env.store.addNote(newNote)
    const changed = env.store.updateNote(note.id, { state: 'learned', learnedIn: 3, count: 2 })
    expect(changed).toMatchObject({ ...newNote, state: 'learned', learnedIn: 3, count: 2 })
    expect(changed.updatedAt).toBeGreaterThan(note.updatedAt)
    expect(() => env.store.updateNote('none', { count: 2 })).toThrow('there is no note none')
  })

  test('a removed note leaves its hints without a note', () => {
    using env = testStore()
    const note = env.store.addNote(newNote)
    const [hint] = env.store.addHints(turn, [proposal('Be short.')])
    env.store.updateHint(hint?.id ?? '', { noteId: note.id })
    env.store.removeNote(note.id)
    expect(env.store.note(note.id)).toBeNull()
    expect(env.store.hint(hint?.id ?? '')?.noteId).toBeNull()
    expect(() => env.store.removeNote(note.id)).toThrow('there is no note')
  })
})
