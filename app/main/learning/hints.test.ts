import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fourWords,
  learningBench,
  runReport,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import { demonstrationSample } from '../../../test/support/samples.ts'
import type { Sample } from '../../shared/domain/training.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import { createHintDesk } from './hints.ts'
import { refreshSamples } from './pool.ts'

const long = 'Water moves slowly through a thin membrane.'
const short = 'Water moves through.'

function desk(bench: LearningBench) {
  return createHintDesk(bench.deps, (turnId) => refreshSamples(bench.deps, turnId))
}

async function corrected() {
  const bench = await learningBench()
  const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
  const hint = bench.hint(turn, fourWords)
  return { bench, turn, hint, desk: desk(bench), [Symbol.asyncDispose]: () => dispose(bench) }
}

async function dispose(bench: LearningBench): Promise<void> {
  await bench[Symbol.asyncDispose]()
}

function ready(bench: LearningBench): Sample[] {
  return bench.store.samples(['ready', 'returned']).map(({ sample }) => sample)
}

function trainedVersion(bench: LearningBench, sampleIds: readonly string[]): number {
  const version = bench.store.nextVersion()
  const report = runReport()
  const file = { path: 'v.gguf', sha256: 'x', modelId: 'test' }
  bench.store.addVersion({ version, parent: 0, sampleIds: [...sampleIds], report, ...file })
  for (const id of sampleIds) bench.store.setSampleState(id, 'used')
  return version
}

function allOf(bench: LearningBench, turn: Turn): string[] {
  return bench.store.samplesOfTurn(turn.id).map(({ sample }) => sample.id)
}

describe('approving a hint', () => {
  it('makes a note with the rule in its words and a sample that carries the hint', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    expect(app.desk.approve(hint.id, 'user')).toMatchObject({
      state: 'approved',
      decidedBy: 'user',
    })
    expect(bench.store.notes()).toMatchObject([
      { text: fourWords, count: 1, state: 'prompt', check: { kind: 'max-words', words: 4 } },
    ])
    expect(ready(bench)).toMatchObject([{ reward: -1, hints: [{ hintId: hint.id }] }])
    expect(bench.events.map(({ kind }) => kind)).toEqual(['hints-changed', 'chat-changed'])
  })

  it('counts the same wish once more instead of making a second note', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    const other = bench.exchange({ request: 'Explain tides.', reply: long, reward: -1 })
    const again = bench.hint(other, 'Please use at most four words.')
    app.desk.approve(hint.id, 'user')
    app.desk.approve(again.id, 'user')
    expect(bench.store.notes()).toMatchObject([{ text: fourWords, count: 2 }])
    expect(bench.store.hint(again.id)?.noteId).toBe(bench.store.hint(hint.id)?.noteId)
  })

  it('twice changes nothing', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    const [note] = bench.store.notes()
    bench.store.updateNote(note?.id ?? '', { state: 'learned', learnedIn: 3 })
    app.desk.approve(hint.id, 'user')
    expect(bench.store.notes()).toMatchObject([
      { id: note?.id, count: 1, state: 'learned', learnedIn: 3 },
    ])
    expect(ready(bench)).toHaveLength(1)
  })

  it('switches off the older of two wishes that cannot be met together', async () => {
    await using app = await corrected()
    const { bench, turn, hint } = app
    app.desk.approve(hint.id, 'user')
    app.desk.approve(bench.hint(turn, 'Use at least 200 words.').id, 'user')
    expect(bench.store.notes().map(({ text, state }) => [text, state])).toEqual([
      [fourWords, 'off'],
      ['Use at least 200 words.', 'prompt'],
    ])
  })

  it('says so when the hint is gone', async () => {
    await using app = await corrected()
    expect(() => app.desk.approve('none', 'user')).toThrow('does not exist any more')
  })
})

describe('editing a hint', () => {
  it("puts the user's words into note and sample", async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    app.desk.edit(hint.id, ' Use at most 9 words. ')
    expect(bench.store.hint(hint.id)).toMatchObject({ state: 'edited', decidedBy: 'user' })
    expect(bench.store.notes()).toMatchObject([
      { text: 'Use at most 9 words.', count: 1, check: { kind: 'max-words', words: 9 } },
    ])
    expect(ready(bench).map(({ hints }) => hints[0]?.text)).toEqual(['Use at most 9 words.'])
  })
})

describe('vetoing a hint', () => {
  it('leaves the reward alone to train', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    app.desk.veto(hint.id)
    expect(bench.store.notes()).toEqual([])
    expect(ready(bench)).toMatchObject([{ reward: -1, hints: [] }])
    const states = bench.store.samples(['vetoed'])
    expect(states).toMatchObject([{ reason: `its hint "${fourWords}" was vetoed` }])
  })

  it('marks the versions that were trained on it', async () => {
    await using app = await corrected()
    const { bench, turn, hint } = app
    app.desk.approve(hint.id, 'user')
    const version = trainedVersion(bench, allOf(bench, turn))
    const untouched = trainedVersion(bench, [])
    app.desk.veto(hint.id)
    expect(bench.store.version(version)?.tainted).toContain(fourWords)
    expect(bench.store.version(untouched)?.tainted).toBeNull()
    expect(bench.store.samples(['used'])).toEqual([])
  })

  it('withdraws the accepted revision that it led to, and marks its version', async () => {
    await using app = await corrected()
    const { bench, turn, hint } = app
    app.desk.approve(hint.id, 'user')
    bench.exchange({ request: 'Too long.', reply: short, after: turn, reward: 1 })
    refreshSamples(bench.deps, turn.id)
    const revision = ready(bench).find(({ origin }) => origin === 'accepted-revision')
    const version = trainedVersion(bench, [revision?.id ?? ''])
    app.desk.veto(hint.id)
    expect(bench.store.sample(revision?.id ?? '')?.state).toBe('vetoed')
    expect(bench.store.version(version)?.tainted).toContain(fourWords)
  })

  it('withdraws what was practised and scaffolded under its note, for good', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    const noteId = bench.store.notes()[0]?.id ?? ''
    const scaffolded = bench.exchange({
      request: 'Explain tides.',
      reply: short,
      reward: 1,
      scaffoldNoteIds: [noteId],
    })
    refreshSamples(bench.deps, scaffolded.id)
    bench.store.addSample(
      demonstrationSample({
        id: 'practised',
        chatId: scaffolded.chatId,
        noteIds: [noteId],
        origin: 'practice',
      }),
    )
    app.desk.veto(hint.id)
    refreshSamples(bench.deps, scaffolded.id)
    expect(bench.store.sample('practised')?.state).toBe('vetoed')
    expect(ready(bench).map(({ kind }) => kind)).toEqual(['turn'])
  })

  it('keeps the note, and what it made, that another hint still speaks for', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    const other = bench.exchange({ request: 'Explain tides.', reply: long, reward: -1 })
    app.desk.approve(hint.id, 'user')
    app.desk.approve(bench.hint(other, fourWords).id, 'user')
    const noteId = bench.store.notes()[0]?.id ?? ''
    const origin = 'practice' as const
    const chatId = other.chatId
    bench.store.addSample(
      demonstrationSample({ id: 'practised', chatId, noteIds: [noteId], origin }),
    )
    app.desk.veto(hint.id)
    expect(bench.store.notes()).toMatchObject([{ id: noteId, count: 1 }])
    expect(bench.store.sample('practised')?.state).toBe('ready')
  })
})

describe('undoing a decision', () => {
  it('proposes the hint again and lets its samples wait', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    expect(app.desk.undo(hint.id)).toMatchObject({
      state: 'proposed',
      decidedBy: null,
      noteId: null,
    })
    expect(bench.store.notes()).toEqual([])
    expect(ready(bench)).toEqual([])
  })

  it('of a veto lets the hint be approved and trained', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    app.desk.approve(hint.id, 'user')
    app.desk.veto(hint.id)
    app.desk.undo(hint.id)
    app.desk.approve(hint.id, 'user')
    expect(ready(bench)).toMatchObject([{ reward: -1, hints: [{ hintId: hint.id }] }])
  })

  it('keeps what was practised under the note out of training', async () => {
    await using app = await corrected()
    const { bench, hint, turn } = app
    app.desk.approve(hint.id, 'user')
    const noteIds = bench.store.notes().map(({ id }) => id)
    const { chatId } = turn
    bench.store.addSample(
      demonstrationSample({ id: 'practised', chatId, noteIds, origin: 'practice' }),
    )
    app.desk.undo(hint.id)
    expect(bench.store.sample('practised')?.state).toBe('retired')
  })
})

describe('the policy of the settings', () => {
  it('approves at once when set to automatic', async () => {
    await using app = await corrected()
    app.bench.store.updateSettings({ hintPolicy: 'automatic' })
    app.desk.applyPolicy(app.turn.id)
    expect(app.bench.store.hint(app.hint.id)).toMatchObject({
      state: 'approved',
      decidedBy: 'policy',
    })
  })

  it.each(['ask', 'after-delay'] as const)('approves nothing at once when set to %s', async (p) => {
    await using app = await corrected()
    app.bench.store.updateSettings({ hintPolicy: p })
    app.desk.applyPolicy(app.turn.id)
    expect(app.bench.store.hint(app.hint.id)?.state).toBe('proposed')
  })

  it('approves after ten minutes of being shown, not earlier', async () => {
    await using app = await corrected()
    const { bench, hint } = app
    bench.store.updateSettings({ hintPolicy: 'after-delay', hintDelayMinutes: 10 })
    for (let minute = 0; minute < 9; minute += 1) app.desk.shown([hint.id], 60_000)
    app.desk.shown([hint.id], 59_999)
    expect(bench.store.hint(hint.id)).toMatchObject({ state: 'proposed', shownMs: 599_999 })
    app.desk.shown([hint.id, 'gone'], 1)
    expect(bench.store.hint(hint.id)).toMatchObject({ state: 'approved', decidedBy: 'policy' })
  })

  it('does not approve what waits to be asked about, however long it is shown', async () => {
    await using app = await corrected()
    app.bench.store.updateSettings({ hintPolicy: 'ask' })
    app.desk.shown([app.hint.id], 60_000_000)
    expect(app.bench.store.hint(app.hint.id)?.state).toBe('proposed')
  })

  it('leaves a vetoed hint vetoed', async () => {
    await using app = await corrected()
    app.bench.store.updateSettings({ hintPolicy: 'automatic' })
    app.desk.veto(app.hint.id)
    app.desk.applyPolicy(app.turn.id)
    app.desk.shown([app.hint.id], 60_000_000)
    expect(app.bench.store.hint(app.hint.id)?.state).toBe('vetoed')
  })
})

const texts = [fourWords, 'Use at most 9 words.', 'Use plain sentences.', 'Say "hello" first.']

const action = fc.record({
  kind: fc.constantFrom('approve', 'veto', 'edit', 'undo', 'practise', 'refresh'),
  at: fc.nat({ max: 5 }),
  text: fc.constantFrom(...texts),
})

/** What must hold after every decision. */
function checkLaws(bench: LearningBench): void {
  const isAgreed = (state: string): boolean => state === 'approved' || state === 'edited'
  const hints = bench.store.hints()
  const agreed = new Set(hints.filter(({ state }) => isAgreed(state)).map(({ id }) => id))
  const notes = new Set(bench.store.notes().map(({ id }) => id))
  for (const sample of ready(bench)) {
    for (const hint of sample.hints) expect(agreed).toContain(hint.hintId)
    for (const id of sample.noteIds) expect(notes).toContain(id)
  }
  for (const note of bench.store.notes()) {
    const spoken = hints.filter(({ noteId }) => noteId === note.id)
    expect(spoken.every(({ id }) => agreed.has(id))).toBe(true)
    expect(note.count).toBe(spoken.length)
  }
  for (const hint of hints) expect(hint.noteId !== null).toBe(agreed.has(hint.id))
}

describe('any sequence of decisions', () => {
  it('leaves no ready sample with a hint or note that is not approved, and counts right', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 12 }), async (actions) => {
        await using bench = await learningBench()
        const turns = ['osmosis', 'tides', 'rain'].map((topic) =>
          bench.exchange({ request: `Explain ${topic}.`, reply: long, reward: -1 }),
        )
        const hints = turns.flatMap((turn, index) => [
          bench.hint(turn, texts[0] ?? ''),
          bench.hint(turn, texts[index + 1] ?? ''),
        ])
        const hintDesk = desk(bench)
        for (const [index, { kind, at, text }] of actions.entries()) {
          const id = hints[at]?.id ?? ''
          const turn = turns[at % 3]
          if (kind === 'approve') hintDesk.approve(id, 'user')
          if (kind === 'veto') hintDesk.veto(id)
          if (kind === 'undo') hintDesk.undo(id)
          if (kind === 'edit') hintDesk.edit(id, text)
          if (kind === 'refresh' && turn !== undefined) refreshSamples(bench.deps, turn.id)
          const note = bench.store.notes()[0]
          if (kind === 'practise' && note !== undefined && turn !== undefined) {
            const made = { id: `p${index}`, noteIds: [note.id], chatId: turn.chatId }
            bench.store.addSample(demonstrationSample({ ...made, origin: 'practice' }))
          }
          checkLaws(bench)
        }
      }),
      { seed: 7, numRuns: 25 },
    )
  })
})
