import { describe, expect, it } from 'vitest'
import {
  fourWords,
  learningBench,
  runReport,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import { demonstrationSample } from '../../../test/support/samples.ts'
import type { Note } from '../../shared/domain/hint.ts'
import { createNoteDesk } from './desk.ts'
import { refreshSamples } from './pool.ts'

const long = 'Water moves slowly through a thin membrane.'

function noteDesk(bench: LearningBench) {
  const owed: string[] = []
  const desk = createNoteDesk(bench.deps, {
    owe: (turnId) => owed.push(turnId),
    refresh: (turnId) => refreshSamples(bench.deps, turnId),
  })
  return { desk, owed }
}

function noteOf(bench: LearningBench, change: Partial<Note> = {}): Note {
  const scope = { kind: 'everywhere' } as const
  const check = { kind: 'max-words', words: 4 } as const
  const note = {
    text: fourWords,
    scope,
    check,
    count: 1,
    state: 'prompt',
    learnedIn: null,
  } as const
  return bench.store.addNote({ ...note, ...change })
}

describe('changing a note', () => {
  it('makes the rule from the new words', async () => {
    await using bench = await learningBench()
    const note = noteOf(bench)
    const { desk } = noteDesk(bench)
    expect(desk.updateNote(note.id, { text: 'Use at most 9 words.' }).check).toEqual({
      kind: 'max-words',
      words: 9,
    })
    expect(desk.updateNote(note.id, { text: 'Be kind.' }).check).toBeNull()
  })

  it('keeps the rule when only scope or state change', async () => {
    await using bench = await learningBench()
    // A relative wish has a number that its words do not show.
    const note = noteOf(bench, { text: 'Shorter, please.' })
    const { desk } = noteDesk(bench)
    const changed = desk.updateNote(note.id, { text: note.text, state: 'off' })
    expect(changed).toMatchObject({ state: 'off', check: { kind: 'max-words', words: 4 } })
  })

  it('says so when the note is gone', async () => {
    await using bench = await learningBench()
    const { desk } = noteDesk(bench)
    expect(() => desk.updateNote('none', { state: 'off' })).toThrow('does not exist any more')
    expect(() => desk.removeNote('none')).toThrow('does not exist any more')
  })
})

describe('removing a note', () => {
  it('vetoes its hints, withdraws what it made, and leaves the reward to train', async () => {
    await using bench = await learningBench()
    const note = noteOf(bench)
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    const hint = bench.hint(turn, fourWords, 'approved')
    bench.store.updateHint(hint.id, { noteId: note.id })
    refreshSamples(bench.deps, turn.id)
    const { chatId } = turn
    const noteIds = [note.id]
    for (const id of ['waiting', 'trained']) {
      bench.store.addSample(demonstrationSample({ id, chatId, noteIds, origin: 'practice' }))
    }
    bench.store.setSampleState('trained', 'used')
    const version = bench.store.nextVersion()
    const file = { path: 'v.gguf', sha256: 'x', modelId: 'test', report: runReport() }
    bench.store.addVersion({ version, parent: 0, sampleIds: ['trained'], ...file })

    noteDesk(bench).desk.removeNote(note.id)

    expect(bench.store.notes()).toEqual([])
    expect(bench.store.hint(hint.id)).toMatchObject({ state: 'vetoed', noteId: null })
    expect(bench.store.samples(['ready']).map(({ sample }) => sample)).toMatchObject([
      { turnId: turn.id, reward: -1, hints: [] },
    ])
    // Trained samples are not replayed under a note that is gone.
    expect(bench.store.sample('trained')?.state).toBe('vetoed')
    expect(bench.store.version(version)?.tainted).toContain(`the note "${fourWords}", removed`)
    expect(bench.events.map(({ kind }) => kind)).toContain('versions-changed')
  })
})

describe('a thumb', () => {
  it('is stored with its words and owes a judgement', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long })
    const { desk, owed } = noteDesk(bench)
    desk.thumb({ turnId: turn.id, value: 1, text: ' good; shorter next time ' })
    expect(bench.store.signals(turn.id)).toMatchObject([
      { kind: 'thumb', value: 1, text: 'good; shorter next time' },
    ])
    expect(bench.store.judgeTask(turn.id)?.state).toBe('owed')
    expect(owed).toEqual([turn.id])
  })

  it('on a reply that is gone says so and stores nothing', async () => {
    await using bench = await learningBench()
    const { desk, owed } = noteDesk(bench)
    expect(() => desk.thumb({ turnId: 'none', value: 1, text: '' })).toThrow('does not exist')
    expect(owed).toEqual([])
  })
})
