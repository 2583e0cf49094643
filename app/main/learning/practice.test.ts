import { describe, expect, it } from 'vitest'
import {
  addNote,
  fourWords,
  learningBench,
  type BenchOptions,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import { scriptedIds, scriptedText, type Answer } from '../../../test/support/scripted-policy.ts'
import { notesForIdlePractice, practisableNotes, practise } from './practice.ts'

const different = ['Salt pulls water.', 'Cells drink slowly.', 'Pressure evens out.']

async function practising(options: BenchOptions = {}) {
  const bench = await learningBench({
    answer: (_request, call): Answer => {
      const text = different[call % different.length] ?? ''
      return { pieces: [text], ids: scriptedIds(text) }
    },
    ...options,
  })
  const turn = bench.exchange({ request: 'Explain osmosis.', reply: 'Too many words in here.' })
  return {
    bench,
    turn,
    note: addNote(bench),
    run: () => practise(bench.deps, new AbortController().signal),
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  }
}

function kept(bench: LearningBench) {
  return bench.store.samples(['ready']).map(({ sample }) => sample)
}

describe('practice', () => {
  it('answers with the note and teaches the prompt without it, at most twice per prompt', async () => {
    await using app = await practising()
    expect(await app.run()).toBe(2)
    const samples = kept(app.bench)
    expect(samples).toHaveLength(2)
    for (const sample of samples) {
      expect(sample).toMatchObject({
        kind: 'demonstration',
        origin: 'practice',
        turnId: null,
        reward: null,
        noteIds: [app.note.id],
        promptIds: app.turn.bareIds,
      })
    }
    for (const { promptIds, lane, temperature } of app.bench.policy.asked) {
      expect(scriptedText(promptIds)).toContain(fourWords)
      expect([lane, temperature]).toEqual(['practise', 0.8])
    }
  })

  it.each([
    ['breaks the rule', { pieces: ['This has far too many words for it.'] }],
    ['was cut off', { pieces: ['Water moves.'], finish: 'length' as const }],
    ['is empty', { pieces: [' '] }],
  ])('keeps no reply that %s, in six tries', async (_name, answer: Answer) => {
    await using app = await practising({ answer: () => answer })
    expect(await app.run()).toBe(0)
    expect(app.bench.policy.asked).toHaveLength(6)
  })

  it('keeps no near-copy', async () => {
    const answer = (_request: unknown, call: number): Answer => ({
      pieces: [call % 2 === 0 ? 'Water moves along.' : 'Water moves along!'],
      ids: [1],
    })
    await using app = await practising({ answer })
    expect(await app.run()).toBe(1)
  })

  it.each([
    ['held out', { heldOut: true }, {}],
    ['in the trash', {}, { deletedAt: 5 }],
    ['of a chat that does not learn', {}, { learn: false }],
  ])('never uses a prompt that is %s', async (_name, turn, chat) => {
    await using app = await practising()
    app.bench.store.updateChat(app.turn.chatId, { deletedAt: 5 })
    const other = app.bench.exchange({ request: 'Explain tides.', reply: 'Moon.', ...turn })
    app.bench.store.updateChat(other.chatId, chat)
    expect(await app.run()).toBe(0)
    expect(app.bench.policy.asked).toEqual([])
  })

  it('uses first prompts only, each once', async () => {
    await using app = await practising()
    app.bench.exchange({ request: 'Too long.', reply: 'Water.', after: app.turn })
    app.bench.exchange({ request: 'Explain osmosis.', reply: 'Water again.' })
    await app.run()
    const prompts = app.bench.policy.asked.map(({ promptIds }) => scriptedText(promptIds))
    expect(new Set(prompts).size).toBe(1)
  })

  it('leaves out notes that no rule can check, are learned or are off', async () => {
    await using app = await practising()
    const { bench, note } = app
    addNote(bench, { check: null })
    addNote(bench, { state: 'learned' })
    addNote(bench, { state: 'off' })
    expect(practisableNotes(bench.deps).map(({ id }) => id)).toEqual([note.id])
  })

  it('rests once a note has twelve practised replies', async () => {
    await using app = await practising()
    for (let index = 0; index < 5; index += 1) {
      app.bench.exchange({ request: `Explain thing ${index}.`, reply: 'Words.' })
    }
    await app.run()
    expect(kept(app.bench)).toHaveLength(12)
    expect(practisableNotes(app.bench.deps)).toEqual([])
  })

  it('is not begun again by idle time before something has changed', async () => {
    await using app = await practising()
    await app.run()
    expect(practisableNotes(app.bench.deps)).toHaveLength(1)
    expect(notesForIdlePractice(app.bench.deps)).toEqual([])
  })

  it('stops when the machine is wanted elsewhere, and may be begun again', async () => {
    const controller = new AbortController()
    await using app = await practising({
      answer: () => {
        controller.abort()
        return { pieces: ['Water moves.'] }
      },
    })
    await expect(practise(app.bench.deps, controller.signal)).rejects.toThrow()
    expect(kept(app.bench)).toEqual([])
    expect(notesForIdlePractice(app.bench.deps)).toHaveLength(1)
  })
})
