import { describe, expect, it } from 'vitest'
import {
  addNote,
  fourWords,
  learningBench,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import { scriptedEndId, scriptedIds, scriptedText } from '../../../test/support/scripted-policy.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import { refreshSamples, samplesOf } from './pool.ts'

const long = 'Water moves slowly through a thin membrane.'
const short = 'Water moves through.'

/** An approved hint with the note that came of it. */
function approved(bench: LearningBench, turn: Turn, text = fourWords) {
  const hint = bench.hint(turn, text, 'approved')
  const note = addNote(bench, { text })
  return { hint: bench.store.updateHint(hint.id, { noteId: note.id }), note }
}

function drafts(bench: LearningBench, turn: Turn) {
  return samplesOf(bench.deps, bench.store.turn(turn.id) ?? turn)
}

describe('the samples of a turn', () => {
  it('are reward and distillation for a rejected reply with a hint', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    const { hint, note } = approved(bench, turn)
    const [draft, ...more] = drafts(bench, turn)
    expect(more).toEqual([])
    expect(draft).toMatchObject({
      kind: 'turn',
      origin: 'reply',
      reward: -1,
      noteIds: [note.id],
      promptIds: turn.bareIds,
      responseIds: turn.responseIds,
      samplerLogProbs: turn.logProbs,
      sampledPromptIds: null,
    })
    expect(draft?.hints.map(({ hintId }) => hintId)).toEqual([hint.id])
    const hinted = scriptedText(draft?.hints[0]?.promptIds ?? [])
    expect(hinted).toBe(`Explain osmosis.\n\n[user's hint / instruction]\n${fourWords}`)
  })

  it('are the reward alone for a rejected reply without a hint', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    expect(drafts(bench, turn)).toMatchObject([{ kind: 'turn', reward: -1, hints: [] }])
  })

  it('are the reward alone for an accepted reply', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: short, reward: 1 })
    expect(drafts(bench, turn)).toMatchObject([{ kind: 'turn', reward: 1, hints: [] }])
  })

  it.each([
    ['0', 0 as const],
    ['undecided', { kind: 'undecided' as const }],
  ])('are distillation alone for a reward of %s with a hint', async (_name, reward) => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward })
    approved(bench, turn)
    const found = drafts(bench, turn)
    expect(found).toMatchObject([{ kind: 'turn', reward: null }])
    expect(found[0]?.hints).toHaveLength(1)
  })

  it('are nothing for a reward of 0 without a hint, and while a reward is awaited', async () => {
    await using bench = await learningBench()
    const zero = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: 0 })
    expect(drafts(bench, zero)).toEqual([])
    const waiting = bench.exchange({ request: 'Explain tides.', reply: long })
    approved(bench, waiting)
    expect(drafts(bench, waiting)).toEqual([])
  })

  it('are reward and distillation for a thumb up with words', async () => {
    await using bench = await learningBench()
    const reward = { kind: 'decided', value: 1, by: 'thumb' } as const
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward })
    approved(bench, turn)
    const found = drafts(bench, turn)
    expect(found).toMatchObject([{ kind: 'turn', reward: 1 }])
    expect(found[0]?.hints).toHaveLength(1)
  })

  it('wait while one of the hints is undecided', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, turn)
    const open = bench.hint(turn, 'Use plain sentences.')
    expect(drafts(bench, turn)).toEqual([])
    bench.store.updateHint(open.id, { state: 'vetoed', decidedBy: 'user' })
    expect(drafts(bench, turn)).toHaveLength(1)
  })

  it('carry at most three hints, the shortest first', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    for (const text of ['Be kind and warm.', 'Be brief.', 'Say hello first.', 'No lists please.']) {
      bench.hint(turn, text, 'approved')
    }
    expect(drafts(bench, turn)[0]?.hints.map(({ text }) => text)).toEqual([
      'Be brief.',
      'Say hello first.',
      'No lists please.',
    ])
  })

  it('show the teacher the other notes in scope beside the hint', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, turn)
    addNote(bench, { text: 'Write plain sentences.', check: null })
    addNote(bench, { text: 'Never say hello.', check: null, state: 'off' })
    const hinted = scriptedText(drafts(bench, turn)[0]?.hints[0]?.promptIds ?? [])
    expect(hinted.split('\n').slice(-2)).toEqual([fourWords, 'Write plain sentences.'])
  })
})

describe('an edited reply', () => {
  it('is a demonstration with the end token', async () => {
    await using bench = await learningBench()
    const reward = { kind: 'decided', value: -1, by: 'edit' } as const
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward })
    const signal = { turnId: turn.id, kind: 'edit', value: null, messageId: null } as const
    bench.store.addSignal({ ...signal, text: 'First try.' })
    bench.store.addSignal({ ...signal, text: short })
    const edits = drafts(bench, turn).filter(({ origin }) => origin === 'edited-reply')
    expect(edits).toMatchObject([
      {
        kind: 'demonstration',
        reward: null,
        hints: [],
        responseIds: [...scriptedIds(short), scriptedEndId],
        promptIds: turn.bareIds,
        samplerLogProbs: null,
        sampledPromptIds: null,
        temperature: 1,
      },
    ])
  })
})

describe('a reply given under a scaffold', () => {
  it('is a demonstration for the bare prompt, and nothing else, when accepted', async () => {
    await using bench = await learningBench()
    const note = addNote(bench)
    const turn = bench.exchange({
      request: 'Explain osmosis.',
      reply: short,
      reward: 1,
      scaffoldNoteIds: [note.id],
    })
    bench.hint(turn, 'Use plain sentences.', 'approved')
    expect(turn.promptIds).not.toEqual(turn.bareIds)
    expect(drafts(bench, turn)).toMatchObject([
      {
        kind: 'demonstration',
        origin: 'scaffolded-reply',
        reward: null,
        hints: [],
        noteIds: [note.id],
        promptIds: turn.bareIds,
        sampledPromptIds: turn.promptIds,
      },
    ])
  })

  it('is distilled on the bare prompt without a reward when rejected', async () => {
    await using bench = await learningBench()
    const note = addNote(bench, { text: 'Write plain sentences.' })
    const turn = bench.exchange({
      request: 'Explain osmosis.',
      reply: long,
      reward: -1,
      scaffoldNoteIds: [note.id],
    })
    expect(drafts(bench, turn)).toEqual([])
    approved(bench, turn)
    expect(drafts(bench, turn)).toMatchObject([
      {
        kind: 'turn',
        origin: 'reply',
        reward: null,
        promptIds: turn.bareIds,
        sampledPromptIds: turn.promptIds,
      },
    ])
  })

  it('teaches nothing once its note was removed', async () => {
    await using bench = await learningBench()
    const note = addNote(bench)
    const turn = bench.exchange({
      request: 'Explain osmosis.',
      reply: short,
      reward: 1,
      scaffoldNoteIds: [note.id],
    })
    bench.store.removeNote(note.id)
    expect(drafts(bench, turn)).toEqual([])
  })
})

describe('an accepted revision', () => {
  const correction = 'Too long. At most 4 words please.'

  function revisions(bench: LearningBench, turn: Turn) {
    return drafts(bench, turn).filter(({ origin }) => origin === 'accepted-revision')
  }

  it('is a demonstration for the first request', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    const { note } = approved(bench, first)
    const second = bench.exchange({ request: correction, reply: short, after: first, reward: 1 })
    expect(revisions(bench, first)).toMatchObject([
      {
        kind: 'demonstration',
        promptIds: first.bareIds,
        responseIds: second.responseIds,
        noteIds: [note.id],
        reward: null,
        hints: [],
        samplerLogProbs: null,
      },
    ])
  })

  it('is found over two corrections', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, first)
    const second = bench.exchange({ request: correction, reply: long, after: first, reward: -1 })
    const third = bench.exchange({
      request: 'Still too long.',
      reply: short,
      after: second,
      reward: 1,
    })
    expect(revisions(bench, first)).toMatchObject([{ responseIds: third.responseIds }])
  })

  it('is found behind a correction that was edited and sent again', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, first)
    bench.exchange({ request: 'Too long.', reply: long, after: first })
    const accepted = bench.exchange({ request: correction, reply: short, after: first, reward: 1 })
    expect(revisions(bench, first)).toMatchObject([{ responseIds: accepted.responseIds }])
  })

  it('is left out without an approved hint', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    bench.exchange({ request: correction, reply: short, after: first, reward: 1 })
    expect(revisions(bench, first)).toEqual([])
  })

  it('is left out when it took over a new fact from the correction', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Who wrote it?', reply: long, reward: -1 })
    approved(bench, first)
    const request = 'Too long, and it was Ada.'
    bench.exchange({ request, reply: 'It was Ada.', after: first, reward: 1 })
    expect(revisions(bench, first)).toEqual([])
  })

  it("is left out when it breaks its note's rule", async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, first)
    bench.exchange({ request: correction, reply: long, after: first, reward: 1 })
    expect(revisions(bench, first)).toEqual([])
  })

  it.each(['length', 'stopped'] as const)('is left out when it ended by %s', async (finish) => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, first)
    bench.exchange({ request: correction, reply: short, after: first, reward: 1, finish })
    expect(revisions(bench, first)).toEqual([])
  })

  it('is left out when it is held out itself', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    approved(bench, first)
    const second = { request: correction, reply: short, after: first, reward: 1 } as const
    bench.exchange({ ...second, heldOut: true })
    expect(revisions(bench, first)).toEqual([])
  })

  it('is left out when the first turn is held out', async () => {
    await using bench = await learningBench()
    const first = bench.exchange({
      request: 'Explain osmosis.',
      reply: long,
      reward: -1,
      heldOut: true,
    })
    approved(bench, first)
    bench.exchange({ request: correction, reply: short, after: first, reward: 1 })
    expect(drafts(bench, first)).toEqual([])
  })
})

describe('what never trains', () => {
  it.each(['length', 'stopped', 'interrupted'] as const)(
    'is a reply that ended by %s',
    async (finish) => {
      await using bench = await learningBench()
      const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1, finish })
      approved(bench, turn)
      expect(drafts(bench, turn)).toEqual([])
    },
  )

  it('is a held-out turn', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({
      request: 'Explain osmosis.',
      reply: short,
      reward: 1,
      heldOut: true,
    })
    expect(drafts(bench, turn)).toEqual([])
  })

  it('is a chat that does not learn, or lies in the trash', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: short, reward: 1 })
    bench.store.updateChat(turn.chatId, { learn: false })
    expect(drafts(bench, turn)).toEqual([])
    bench.store.updateChat(turn.chatId, { learn: true, deletedAt: 5 })
    expect(drafts(bench, turn)).toEqual([])
    bench.store.updateChat(turn.chatId, { deletedAt: null })
    expect(drafts(bench, turn)).toHaveLength(1)
  })
})

describe('refreshing', () => {
  function states(bench: LearningBench, turn: Turn) {
    return bench.store
      .samplesOfTurn(turn.id)
      .map(({ sample, state }) => [sample.reward, sample.hints.length, state])
  }

  it('adds a sample once', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    refreshSamples(bench.deps, turn.id)
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([[-1, 0, 'ready']])
  })

  it('replaces a ready sample after a later decision', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    refreshSamples(bench.deps, turn.id)
    bench.store.setReward(turn.id, { kind: 'decided', value: 1, by: 'thumb' })
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([
      [-1, 0, 'retired'],
      [1, 0, 'ready'],
    ])
  })

  it('brings a replaced sample back when the decision is taken back', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    refreshSamples(bench.deps, turn.id)
    bench.store.setReward(turn.id, { kind: 'undecided' })
    refreshSamples(bench.deps, turn.id)
    bench.store.setReward(turn.id, { kind: 'decided', value: -1, by: 'votes' })
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([
      [-1, 0, 'retired'],
      [-1, 0, 'ready'],
    ])
  })

  it('leaves trained samples as history and does not train the same again', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    refreshSamples(bench.deps, turn.id)
    const id = bench.store.samplesOfTurn(turn.id)[0]?.sample.id ?? ''
    bench.store.setSampleState(id, 'used')
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([[-1, 0, 'used']])
    bench.store.setReward(turn.id, { kind: 'undecided' })
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([[-1, 0, 'used']])
  })

  it('does not bring back what a run excluded', async () => {
    await using bench = await learningBench()
    const turn = bench.exchange({ request: 'Explain osmosis.', reply: long, reward: -1 })
    refreshSamples(bench.deps, turn.id)
    const id = bench.store.samplesOfTurn(turn.id)[0]?.sample.id ?? ''
    bench.store.setSampleState(id, 'retired', 'the reply repeats itself')
    refreshSamples(bench.deps, turn.id)
    expect(states(bench, turn)).toEqual([[-1, 0, 'retired']])
  })
})
