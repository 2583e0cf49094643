import { describe, expect, it } from 'vitest'
import {
  addNote,
  fourWords,
  learningBench,
  runReport,
  type BenchOptions,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import { scriptedText, type Answer } from '../../../test/support/scripted-policy.ts'
import type { Note } from '../../shared/domain/hint.ts'
import type { GenerateRequest } from '../policy/types.ts'
import { checkPreference } from './preference.ts'

const good = 'Only three words.'
const bad = 'This reply has many more words than four.'
const kinds = Array.from({ length: 10 }, (_, index) => `Explain thing ${index}.`)

function versionOf({ adapter }: GenerateRequest): number {
  return adapter === 'active' ? -1 : adapter.version
}

/** The first `counts[version]` of a version's replies satisfy the note. */
function satisfying(counts: readonly number[]): NonNullable<BenchOptions['answer']> {
  const given = counts.map(() => 0)
  return (request): Answer => {
    const version = versionOf(request)
    const index = given[version] ?? 0
    given[version] = index + 1
    return { pieces: [index < (counts[version] ?? 0) ? good : bad] }
  }
}

function check(bench: LearningBench, notes: readonly Note[]) {
  return checkPreference(bench.deps, {
    candidate: { version: 1, path: 'v1.gguf' },
    active: { version: 0, path: null },
    report: runReport(),
    notes,
    signal: new AbortController().signal,
  })
}

async function withCounts(before: number, now: number, own = 0) {
  await using bench = await learningBench({
    answer: satisfying([before, now]),
    resources: { kinds },
  })
  for (let index = 0; index < own; index += 1) {
    bench.exchange({ request: `Explain my thing ${index}.`, reply: bad, heldOut: true })
  }
  const note = addNote(bench)
  return { ...(await check(bench, [note])), noteId: note.id, asked: bench.policy.asked }
}

describe('the preference check', () => {
  it('does not read first prompts of chats that are not to be learned from', async () => {
    await using bench = await learningBench({
      answer: satisfying([2, 6]),
      resources: { kinds },
    })
    for (let index = 0; index < 9; index += 1) {
      const request = `Explain my secret ${index}.`
      const turn = bench.exchange({ request, reply: bad, heldOut: true })
      bench.store.updateChat(turn.chatId, { learn: false })
    }
    const found = await check(bench, [addNote(bench)])
    expect(found.check.verdict).toBe('not-tested')
    expect(found.check.sentence).toContain('Not tested on your own prompts yet.')
  })

  it('on bundled prompts says that it is not tested on the own ones yet', async () => {
    const found = await withCounts(2, 6)
    expect(found.check).toMatchObject({ verdict: 'not-tested', value: 6 / 8 })
    expect(found.check.sentence).toBe(
      `“${fourWords}”: 6 of 8 now, 2 of 8 before (41–93%). Not tested on your own prompts yet.`,
    )
  })

  it('uses the held-out prompts once there are eight of them', async () => {
    const seven = await withCounts(0, 7, 7)
    expect(seven.check.verdict).toBe('not-tested')
    const eight = await withCounts(0, 8, 8)
    expect(eight.check).toMatchObject({ verdict: 'passed', value: 1 })
    const prompts = eight.asked.map(({ promptIds }) => scriptedText(promptIds))
    expect(new Set(prompts)).toEqual(
      new Set(Array.from({ length: 8 }, (_, index) => `Explain my thing ${index}.`)),
    )
  })

  it('looks at the sixteen newest', async () => {
    const found = await withCounts(0, 16, 20)
    expect(found.check.sentence).toContain('16 of 16 now, 0 of 16 before')
    const first = scriptedText(found.asked[0]?.promptIds ?? [])
    expect(first).toBe('Explain my thing 4.')
  })

  it.each([
    [5, 4, 'passed'],
    [5, 3, 'failed'],
  ])('with %d before and %d now is %s: one less is noise', async (before, now, verdict) => {
    expect((await withCounts(before, now, 8)).check.verdict).toBe(verdict)
  })

  it.each([
    [7, 'learned'],
    [6, 'neither'],
    [5, 'neither'],
    [4, 'forgotten'],
  ])('of %d in eight calls the note %s', async (now, word) => {
    const { learned, forgotten, noteId } = await withCounts(4, now)
    expect(learned.includes(noteId)).toBe(word === 'learned')
    expect(forgotten.includes(noteId)).toBe(word === 'forgotten')
  })

  it('asks the bare prompt, without the note', async () => {
    const { asked } = await withCounts(0, 0)
    for (const { promptIds } of asked) expect(scriptedText(promptIds)).not.toContain(fourWords)
  })

  it('stops a reply that cannot satisfy the note any more', async () => {
    const pieces = 'one two three four five six seven eight'.split(/(?<= )/u)
    await using bench = await learningBench({ answer: () => ({ pieces }), resources: { kinds } })
    await check(bench, [addNote(bench)])
    expect(bench.policy.asked[0]?.signal?.aborted).toBe(true)
  })

  it('does not count a reply under the limit that was cut off', async () => {
    const answer = (): Answer => ({ pieces: [good], finish: 'length' })
    await using bench = await learningBench({ answer, resources: { kinds } })
    expect((await check(bench, [addNote(bench)])).check.value).toBe(0)
  })

  it('does not ask a version twice', async () => {
    await using bench = await learningBench({
      answer: () => ({ pieces: [good] }),
      resources: { kinds },
    })
    const note = addNote(bench)
    await check(bench, [note])
    await check(bench, [note])
    expect(bench.policy.asked).toHaveLength(16)
  })

  it('asks anew when the rule of the note has changed', async () => {
    await using bench = await learningBench({
      answer: () => ({ pieces: [good] }),
      resources: { kinds },
    })
    const note = addNote(bench)
    await check(bench, [note])
    const changed = await check(bench, [{ ...note, check: { kind: 'max-words', words: 2 } }])
    expect(changed.check.value).toBe(0)
  })

  it('says so when no rule can check a note, or none is there', async () => {
    await using bench = await learningBench({ resources: { kinds } })
    const none = await check(bench, [])
    expect(none.check.sentence).toBe('There is no approved note to test yet.')
    const notes = [addNote(bench, { check: null })]
    const untestable = await check(bench, notes)
    expect(untestable.check).toMatchObject({ verdict: 'not-tested', value: null })
    expect(untestable.check.sentence).toContain('cannot be tested by a rule')
    expect(bench.policy.asked).toEqual([])
  })

  it('tests a note only on requests of its kind', async () => {
    await using bench = await learningBench({
      answer: () => ({ pieces: [good] }),
      resources: { kinds: [...kinds, 'Translate "house" into French.'] },
    })
    const scope = { kind: 'similar', requests: ['Translate "tree" into German.'] } as const
    await check(bench, [addNote(bench, { scope: { ...scope, requests: [...scope.requests] } })])
    const prompts = bench.policy.asked.map(({ promptIds }) => scriptedText(promptIds))
    expect(new Set(prompts)).toEqual(new Set(['Translate "house" into French.']))
  })
})
