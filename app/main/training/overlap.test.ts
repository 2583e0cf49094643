import { describe, expect, it } from 'vitest'
import type { HintView, TopTokens } from './overlap.ts'
import { buildSupport, chooseHints, outsideMass, overlapCounts, overlapRecord } from './overlap.ts'
import { randomAt } from './random.ts'

const tokens = (ids: number[], logProbs: number[]): TopTokens => ({
  positions: ids.length / 2,
  width: 2,
  ids,
  logProbs,
})
const student = tokens([1, 2, 3, 4], [-0.5, -1, -0.6, -1.2])
const near: HintView = {
  hintId: 'near',
  text: 'be brief, please',
  top: tokens([2, 1, 9, 3], [-0.4, -1.1, -0.3, -2]),
  atStudent: [-1.1, -0.4, -2, -7],
}
const far: HintView = {
  hintId: 'far',
  text: 'short',
  top: tokens([7, 8, 4, 3], [-0.2, -2, -0.9, -1]),
  atStudent: [-6, -5, -1, -0.9],
}
const overlaps = [near, far].map((view) => overlapCounts(student, view.top))
const choose = (selection: 'sequence' | 'token' | 'shortest' | 'longest') =>
  chooseHints({ selection, texts: [near.text, far.text], overlaps, random: () => 0 })

describe('overlap and choice of hints', () => {
  it('counts common tokens per position, whatever their order', () => {
    expect(overlaps).toEqual([
      [2, 1],
      [0, 2],
    ])
  })

  it('chooses by sum over the sequence, per token, or by length', () => {
    expect(choose('sequence')).toEqual([0, 0])
    expect(choose('token')).toEqual([0, 1])
    expect(choose('shortest')).toEqual([1, 1])
    expect(choose('longest')).toEqual([0, 0])
  })

  it('gives ties to the shorter hint', () => {
    const tie = {
      texts: ['a longer hint', 'short'],
      overlaps: [
        [1, 1],
        [2, 0],
      ],
      random: () => 0,
    }
    expect(chooseHints({ selection: 'sequence', ...tie })).toEqual([1, 1])
    expect(chooseHints({ selection: 'token', ...tie })).toEqual([1, 0])
  })

  it('draws one random hint for the whole reply, the same for the same seed', () => {
    const draw = (seed: number) =>
      chooseHints({
        selection: 'random',
        texts: ['a', 'b'],
        overlaps: [
          [0, 0],
          [0, 0],
        ],
        random: randomAt(seed, 0),
      })
    const drawn = Array.from({ length: 20 }, (_, seed) => draw(seed))
    expect(drawn).toEqual(Array.from({ length: 20 }, (_, seed) => draw(seed)))
    expect(new Set(drawn.map(String))).toEqual(new Set(['0,0', '1,1']))
  })
})

describe('support', () => {
  const build = (kind: 'student' | 'teacher' | 'overlap' | 'union', chosen = [0, 0]) =>
    buildSupport({ kind, student, hints: [near, far], chosen })
  const members = (support: ReturnType<typeof build>) =>
    [0, 1].map((t) =>
      Array.from({ length: support.width }, (_, k) => t * support.width + k)
        .filter((index) => support.members[index] === 1)
        .map((index) => support.ids[index]),
    )

  it('takes the student’s, the teacher’s, the common, or all tokens', () => {
    expect(members(build('student'))).toEqual([
      [1, 2],
      [3, 4],
    ])
    expect(members(build('teacher'))).toEqual([
      [2, 1],
      [9, 3],
    ])
    expect(members(build('overlap'))).toEqual([[1, 2], [3]])
    expect(members(build('union'))).toEqual([
      [1, 2],
      [3, 4, 9],
    ])
  })

  it('is empty where the chosen teacher shares no token', () => {
    expect(members(build('overlap', [1, 1]))).toEqual([[], [3, 4]])
  })

  it('carries the teacher’s log-probabilities of exactly those tokens', () => {
    expect([...build('student').teacherLogProbs]).toEqual([-1.1, -0.4, -2, -7].map(Math.fround))
    const union = build('union', [0, 1])
    expect([...union.teacherLogProbs.slice(0, 2)]).toEqual([-1.1, -0.4].map(Math.fround))
    expect([...union.teacherLogProbs.slice(4, 6)]).toEqual([-1, -0.9].map(Math.fround))
  })

  it('reports the teacher’s mass outside of it', () => {
    const inside = (Math.exp(-1.1) + Math.exp(-0.4) + Math.exp(-2) + Math.exp(-7)) / 2
    expect(outsideMass(build('student'))).toBeCloseTo(1 - inside, 6)
    expect(outsideMass(build('overlap', [1, 1]))).toBeGreaterThan(0.5)
  })
})

describe('heat map record', () => {
  it('keeps both top lists, the counts and the chosen hint per position', () => {
    const record = overlapRecord({
      sampleId: 's',
      responseIds: [1, 3],
      student,
      hints: [near, far],
      chosen: [0, 1],
    })
    expect(record.student[1]).toEqual({ ids: [3, 4], logProbs: [-0.6, -1.2] })
    expect(record.hints.map((hint) => hint.overlap)).toEqual([
      [2, 1],
      [0, 2],
    ])
    expect(record.hints[1]?.teacher[0]).toEqual({ ids: [7, 8], logProbs: [-0.2, -2] })
    expect(record).toMatchObject({ topK: 2, chosen: [0, 1], responseIds: [1, 3] })
  })
})
