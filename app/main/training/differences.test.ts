import { expect, it } from 'vitest'
import { differenceBins } from '../../shared/domain/difference-bins.ts'
import { stepReportSchema } from '../../shared/domain/training.ts'
import { countDifferences, differencesOf } from './differences.ts'

it('takes the difference of every token in the support and of no other', () => {
  const support = {
    width: 2,
    ids: Int32Array.of(7, 8, 9, 7),
    members: Uint8Array.of(1, 1, 1, 0),
    teacherLogProbs: Float32Array.of(-1, -4, -0.5, 0),
  }
  expect(differencesOf(support, [-2, -1, -0.5, -3])).toEqual([1, -3, 0])
})

it('counts in half nats between two open ends, each bin with its lower edge', () => {
  const { counts, clip } = countDifferences([-5.01, -99, -5, -0.01, 0, 0.49, 4.99, 5, 80], 1)
  const { low, width, count } = differenceBins
  const filled = counts.flatMap((number, bin) =>
    number === 0 ? [] : [[low + (bin - 1) * width, number]],
  )
  expect(filled).toEqual([
    [-5.5, 2],
    [-5, 1],
    [-0.5, 1],
    [0, 2],
    [4.5, 1],
    [5, 2],
  ])
  expect([clip, counts.length, count]).toEqual([1, 22, 22])
})

it('puts infinities into the open ends and what is no number nowhere', () => {
  const { counts } = countDifferences([-Infinity, Infinity, NaN], 1)
  expect([counts[0], counts.at(-1)]).toEqual([1, 1])
  expect(counts.reduce((sum, number) => sum + number, 0)).toBe(2)
})

it('lets a step that was stored before there were counts be read', () => {
  const old = {
    ...{ step: 1, steps: 2, loss: 0.5, lossRl: null, lossOpd: 0.1, lossDemo: null },
    ...{ lossAnchor: null, gradientNorm: 1, learningRate: 1e-3, logProbGap: null },
    ...{ outsideMass: 0.2, tokens: 3, seconds: 1 },
  }
  expect(stepReportSchema.parse(old)).toEqual({
    ...old,
    lossEnding: null,
    lossKl: null,
    lossValue: null,
    differences: null,
  })
})
