import { describe, expect, it } from 'vitest'
import { finiteDifferences } from '../../../../test/support/finite-differences.ts'
import { distillationLoss } from './distillation.ts'

const clip = { low: 0.2, high: 0.28 }
const settings = { width: 2, differenceClip: 1, clip }

describe('distillation', () => {
  it('weighs differences by the old student over the support', () => {
    // Weights 0.8 and 0.2; differences +0.1 and −1 (from −3, held at −C).
    const oldLogProbs = [Math.log(0.4), Math.log(0.1)]
    const teacherLogProbs = [Math.log(0.4) + 0.1, Math.log(0.1) - 3]
    const support = [1, 1]
    const input = { ...settings, logProbs: oldLogProbs, oldLogProbs, teacherLogProbs, support }
    const { loss, gradient, stats } = distillationLoss(input)
    expect(loss).toBeCloseTo(-(0.8 * 0.1 - 0.2), 12)
    expect(gradient[0]).toBeCloseTo(-0.08, 7)
    expect(gradient[1]).toBeCloseTo(0.2, 7)
    expect(stats).toEqual({ clippedShare: 0, emptyPositions: 0 })
  })

  it('pulls nothing where teacher and student agree', () => {
    const logProbs = [-1, -2, -0.3, -4]
    const same = { logProbs, oldLogProbs: logProbs, teacherLogProbs: logProbs }
    const { loss, gradient } = distillationLoss({ ...settings, ...same, support: [1, 1, 1, 1] })
    expect(Math.abs(loss)).toBe(0)
    expect(gradient.every((value) => Math.abs(value) === 0)).toBe(true)
  })

  it('contributes 0 at a position with an empty support, which still counts in the mean', () => {
    const oldLogProbs = [-1, -1, -1, -1]
    const teacherLogProbs = [-0.5, -0.5, -0.5, -0.5]
    const input = { ...settings, logProbs: oldLogProbs, oldLogProbs, teacherLogProbs }
    const whole = distillationLoss({ ...input, support: [1, 1, 1, 1] })
    const half = distillationLoss({ ...input, support: [1, 1, 0, 0] })
    const none = distillationLoss({ ...input, support: [0, 0, 0, 0] })
    expect(half.loss).toBeCloseTo(whole.loss / 2, 12)
    expect([...half.gradient.slice(2)]).toEqual([0, 0])
    expect(none).toMatchObject({ loss: 0, stats: { clippedShare: 0, emptyPositions: 2 } })
  })

  it('agrees with finite differences when the ratio has left 1', () => {
    const oldLogProbs = [-0.7, -1.9, -2.5, -0.4, -3.1, -1.2]
    const teacherLogProbs = [-0.2, -2.4, -1.1, -0.9, -2.9, -4]
    const logProbs = [-0.3, -1.8, -2.55, -0.9, -3.15, -1.1]
    const lossOf = (values: readonly number[]) =>
      distillationLoss({
        width: 3,
        differenceClip: 1,
        clip,
        logProbs: values,
        oldLogProbs,
        teacherLogProbs,
        support: [1, 1, 1, 1, 1, 0],
      })
    const { gradient, stats } = lossOf(logProbs)
    const numeric = finiteDifferences((values) => lossOf(values).loss, logProbs)
    numeric.forEach((value, index) => expect(gradient[index]).toBeCloseTo(value, 6))
    expect(stats.clippedShare).toBeGreaterThan(0)
    expect(gradient[5]).toBe(0)
  })

  it('keeps its weights where every token of the support is nearly impossible', () => {
    const oldLogProbs = [-900, -900]
    const teacherLogProbs = [-899.5, -900.5]
    const input = { ...settings, logProbs: oldLogProbs, oldLogProbs, teacherLogProbs }
    const { gradient } = distillationLoss({ ...input, support: [1, 1] })
    expect([...gradient]).toEqual([-0.25, 0.25])
  })
})
