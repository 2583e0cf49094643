import { describe, expect, it } from 'vitest'
import { finiteDifferences } from '../../../../test/support/finite-differences.ts'
import { klPenalty } from './kl-penalty.ts'

describe('penalty to the base', () => {
  it('is 0 with no gradient where the policy is the base', () => {
    const { loss, gradient } = klPenalty([-1, -3], [-1, -3])
    expect(loss).toBe(0)
    expect([...gradient].every((value) => Math.abs(value) === 0)).toBe(true)
  })

  it('is never negative and pulls toward the base from both sides', () => {
    const { loss, gradient } = klPenalty([-1, -2], [-2, -1])
    expect(loss).toBeCloseTo((Math.exp(-1) + Math.exp(1) - 2) / 2, 12)
    // Likelier than in the base: down; less likely: up.
    expect(gradient[0]).toBeGreaterThan(0)
    expect(gradient[1]).toBeLessThan(0)
  })

  it('agrees with finite differences, bounded tokens included', () => {
    const base = [-0.5, -1.5, -14, -0.2]
    const now = [-0.7, -0.4, -0.1, -13]
    const { gradient } = klPenalty(now, base)
    const numeric = finiteDifferences((values) => klPenalty(values, base).loss, now)
    numeric.forEach((value, t) => expect(gradient[t]).toBeCloseTo(value, 6))
    expect([gradient[2], gradient[3]]).toEqual([0, 0])
  })

  it('estimates KL(θ ‖ base) over the policy’s own tokens', () => {
    const policy = [0.7, 0.2, 0.1]
    const base = [0.5, 0.3, 0.2]
    const expected = policy.reduce((sum, p, i) => sum + p * Math.log(p / (base[i] ?? NaN)), 0)
    const mean = policy.reduce(
      (sum, p, i) => sum + p * klPenalty([Math.log(p)], [Math.log(base[i] ?? NaN)]).loss,
      0,
    )
    expect(mean).toBeCloseTo(expected, 12)
  })
})
