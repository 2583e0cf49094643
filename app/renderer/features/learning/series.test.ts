import { expect, it } from 'vitest'
import type { Curves } from '../../../shared/contract/app.ts'
import { axisNumber, marksOfChange, wholeTicks } from './chart-parts.tsx'
import { decidedRewards, finite, newestDifferences, sessionRows, stepRows } from './series.ts'

const step: Curves['steps'][number] = {
  runId: 'r',
  at: 0,
  step: 1,
  steps: 1,
  loss: Number.NaN,
  lossRl: null,
  lossOpd: 0.5,
  lossDemo: null,
  lossAnchor: null,
  lossEnding: null,
  lossKl: null,
  lossValue: null,
  gradientNorm: Number.POSITIVE_INFINITY,
  learningRate: 1,
  logProbGap: null,
  outsideMass: null,
  differences: null,
  tokens: 1,
  seconds: 1,
}

const base = { at: 1, turnId: 't', chatId: 'c' }

it('numbers decided replies and leaves the undecided out, never as 0', () => {
  const rows = decidedRewards([
    { ...base, version: 0, reward: { kind: 'undecided' }, rolling: null },
    { ...base, version: 0, reward: { kind: 'decided', value: -1, by: 'votes' }, rolling: -1 },
    { ...base, version: 1, reward: { kind: 'waiting' }, rolling: -1 },
    {
      ...base,
      version: 1,
      reward: { kind: 'decided', value: 0, by: 'votes' },
      rolling: Number.NaN,
    },
  ])
  expect(rows.map(({ reply, value, rolling }) => [reply, value, rolling])).toEqual([
    [1, -1, -1],
    [2, 0, null],
  ])
})

it('gives a session without judged replies no share', () => {
  const session = { chatId: 'c', title: '', startedAt: 0, version: 0, rejected: 0 }
  const rows = sessionRows([
    { ...session, firstReplies: 0, accepted: 0 },
    { ...session, firstReplies: 4, accepted: 3 },
  ])
  expect(rows.map(({ share }) => share)).toEqual([null, 75])
})

it('turns numbers that are none into gaps', () => {
  expect([Number.NaN, Number.POSITIVE_INFINITY, null, 2].map(finite)).toEqual([null, null, null, 2])
  const [row] = stepRows([step])
  expect([row?.loss, row?.gradientNorm, row?.lossOpd]).toEqual([null, null, 0.5])
})

it('draws the differences of the newest run that has them, with what the clip takes away', () => {
  const counts = (first: number) => [first, ...new Array<number>(20).fill(0), 3]
  const at = (runId: string, first: number | null) => ({
    ...step,
    runId,
    differences: first === null ? null : { clip: 1, counts: counts(first) },
  })
  expect(newestDifferences([at('a', null)])).toBeNull()
  const found = newestDifferences([
    at('a', 1),
    at('b', 7),
    at('b', 8),
    at('b', null),
    at('c', null),
  ])
  expect(found?.clip).toBe(1)
  expect(found?.rows).toHaveLength(22)
  expect(found?.rows[0]).toEqual({ middle: -5.25, from: null, to: -5, count: 7, isClipped: true })
  expect(found?.rows.at(-1)).toMatchObject({ middle: 5.25, from: 5, to: null, count: 3 })
  const kept = found?.rows.filter(({ isClipped }) => !isClipped).map(({ from, to }) => [from, to])
  expect(kept).toEqual([
    [-1, -0.5],
    [-0.5, 0],
    [0, 0.5],
    [0.5, 1],
  ])
})

it('marks where another version began to answer', () => {
  const points = [0, 0, 1, 1, 3].map((version, x) => ({ version, x }))
  const read = {
    x: (point: { x: number }) => point.x,
    version: (point: { version: number }) => point.version,
  }
  expect(marksOfChange(points, read, (version) => `v${version}`)).toEqual([
    { x: 2, label: 'v1' },
    { x: 4, label: 'v3' },
  ])
})

it('writes axes with few whole ticks and short numbers', () => {
  expect(wholeTicks(0)).toEqual([])
  expect(wholeTicks(14)).toEqual([1, 4, 7, 10, 13])
  expect(wholeTicks(1000).length).toBeLessThanOrEqual(6)
  expect(axisNumber(-0.0051234)).toBe('−0.0051')
})
