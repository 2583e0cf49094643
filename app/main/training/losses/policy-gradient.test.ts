import { describe, expect, it } from 'vitest'
import {
  importanceWeights,
  policyGradientLoss,
  rewardAdvantages,
  teacherAdvantages,
} from './policy-gradient.ts'
import { finiteDifferences } from '../../../../test/support/finite-differences.ts'

const clip = { low: 0.2, high: 0.28 }
const oldLogProbs = [-0.5, -1.5, -3]

describe('rewardAdvantages', () => {
  it('leaves masked tokens out and keeps the others as they are', () => {
    const mask = [true, false, true]
    const of = (reward: 1 | -1): number[] => [
      ...rewardAdvantages({ reward, negativeWeight: 0.3, oldLogProbs, mask }),
    ]
    expect(of(1)).toEqual([1, 0, 1])
    expect(of(-1)).toEqual([-0.3, 0, -0.3].map((value) => Math.fround(value)))
  })
})

describe('policy gradient', () => {
  it('gives −reward and a gradient of −A c / R when nothing has moved', () => {
    const advantages = rewardAdvantages({ reward: 1, negativeWeight: 0.3, oldLogProbs })
    const importance = [1, 0.5, 2]
    const input = { logProbs: oldLogProbs, oldLogProbs, importance, advantages, clip }
    const { loss, gradient, stats } = policyGradientLoss(input)
    expect(loss).toBeCloseTo(-3.5 / 3, 6)
    expect([...gradient]).toEqual([-1 / 3, -0.5 / 3, -2 / 3].map(Math.fround))
    expect(stats).toEqual({ clippedShare: 0, meanRatio: 1 })
  })

  it('agrees with finite differences in the second pass, clipped tokens included', () => {
    const logProbs = [-0.1, -1.45, -3.6]
    for (const reward of [1, -1] as const) {
      const advantages = rewardAdvantages({ reward, negativeWeight: 0.3, oldLogProbs })
      const lossOf = (values: readonly number[]) =>
        policyGradientLoss({
          logProbs: values,
          oldLogProbs,
          importance: [1, 0.7, 2],
          advantages,
          clip,
        })
      const { gradient, stats } = lossOf(logProbs)
      const numeric = finiteDifferences((values) => lossOf(values).loss, logProbs)
      expect(numeric.every((value, i) => Math.abs(value - (gradient[i] ?? NaN)) < 1e-6)).toBe(true)
      expect(stats.clippedShare).toBeCloseTo(1 / 3, 12)
    }
  })

  it('weighs a rejected reply 0.3 and leaves out tokens under one in a thousand', () => {
    const old = [-0.5, Math.log(0.0011), Math.log(0.0009)]
    const advantages = rewardAdvantages({ reward: -1, negativeWeight: 0.3, oldLogProbs: old })
    expect([...advantages]).toEqual([-0.3, -0.3, 0].map(Math.fround))
    const { loss, gradient } = policyGradientLoss({
      logProbs: old,
      oldLogProbs: old,
      importance: [1, 1, 1],
      advantages,
      clip,
    })
    expect(loss).toBeCloseTo(0.2, 6)
    const expected = [0.1, 0.1, 0]
    expected.forEach((value, t) => expect(gradient[t]).toBeCloseTo(value, 7))
  })

  it('keeps rare tokens of an accepted reply', () => {
    const advantages = rewardAdvantages({ reward: 1, negativeWeight: 0.3, oldLogProbs: [-12] })
    expect([...advantages]).toEqual([1])
  })

  it('bounds the importance at 2 and takes 1 without the server’s numbers', () => {
    const weights = importanceWeights([-1, -1, -1], [-1, -3, -0.5])
    expect([...weights]).toEqual([1, 2, Math.exp(-0.5)].map(Math.fround))
    expect([...importanceWeights([-1, -2], null)]).toEqual([1, 1])
  })

  it('handles a reply of one token', () => {
    const advantages = rewardAdvantages({ reward: 1, negativeWeight: 0.3, oldLogProbs: [-2] })
    const input = { logProbs: [-2], oldLogProbs: [-2], importance: [1], advantages, clip }
    expect(policyGradientLoss(input)).toMatchObject({ loss: -1, gradient: new Float32Array([-1]) })
  })

  it('takes token-level distillation as advantages within ±C', () => {
    const advantages = teacherAdvantages({
      teacherLogProbs: [-0.25, -5, -2.5],
      oldLogProbs,
      differenceClip: 1,
    })
    expect([...advantages]).toEqual([0.25, -1, 0.5])
  })
})
