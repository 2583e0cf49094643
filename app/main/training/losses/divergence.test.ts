import { describe, expect, it } from 'vitest'
import { finiteDifferences } from '../../../../test/support/finite-differences.ts'
import { divergenceLoss } from './divergence.ts'

const teacherLogProbs = [-0.2, -2.4, -1.1, -0.9, -2.9, -4]
const logProbs = [-0.3, -1.8, -2.5, -0.9, -3.1, -1.1]

describe('divergence over the support', () => {
  it('is KL(teacher ‖ student) of the two distributions at its own temperature', () => {
    // Temperature 0.6 of the sample over 0.3 of the divergence: probabilities squared, then normalised.
    const { loss } = divergenceLoss({
      width: 2,
      logProbs: [Math.log(0.3), Math.log(0.6)],
      teacherLogProbs: [Math.log(0.6), Math.log(0.3)],
      support: [1, 1],
      scale: 2,
    })
    expect(loss).toBeCloseTo(0.8 * Math.log(0.8 / 0.2) + 0.2 * Math.log(0.2 / 0.8), 12)
  })

  it('agrees with finite differences and leaves unused columns alone', () => {
    const input = { width: 3, teacherLogProbs, support: [1, 1, 1, 1, 1, 0], scale: 2 }
    const { gradient } = divergenceLoss({ ...input, logProbs })
    const numeric = finiteDifferences(
      (values) => divergenceLoss({ ...input, logProbs: values }).loss,
      logProbs,
    )
    numeric.forEach((value, index) => expect(gradient[index]).toBeCloseTo(value, 6))
    expect(gradient[5]).toBe(0)
  })

  it('contributes 0 at a position with an empty support, which still counts in the mean', () => {
    const input = { width: 3, logProbs, teacherLogProbs, scale: 2 }
    const first = divergenceLoss({ ...input, support: [1, 1, 1, 0, 0, 0] })
    const alone = divergenceLoss({
      ...input,
      logProbs: logProbs.slice(0, 3),
      teacherLogProbs: teacherLogProbs.slice(0, 3),
      support: [1, 1, 1],
    })
    expect(first.loss).toBeCloseTo(alone.loss / 2, 12)
    expect(divergenceLoss({ ...input, support: [0, 0, 0, 0, 0, 0] }).loss).toBe(0)
  })
})
