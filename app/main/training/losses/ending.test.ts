import { describe, expect, it } from 'vitest'
import { endingLoss } from './ending.ts'

const base = [-6, -0.1, -2, -0.7, -3e-5]

describe('where a reply ends', () => {
  it('costs nothing where θ ends as the base does', () => {
    const { loss, gradient } = endingLoss(base, base)
    expect(loss).toBeCloseTo(0, 12)
    for (const value of gradient) expect(value).toBeCloseTo(0, 5)
  })

  it('is the KL of ending or going on, summed over the places', () => {
    const [p, q] = [0.02, 0.15]
    const one = p * Math.log(p / q) + (1 - p) * Math.log((1 - p) / (1 - q))
    const places = [Math.log(q), Math.log(q), Math.log(p)]
    const bases = [Math.log(p), Math.log(p), Math.log(p)]
    expect(endingLoss(places, bases).loss).toBeCloseTo(2 * one, 10)
  })

  it('has the slope that finite differences show', () => {
    const own = [-5, -0.4, -0.01, -2.5, -1]
    const { gradient } = endingLoss(own, base)
    for (const [t, value] of own.entries()) {
      const step = 1e-5
      const at = (change: number) => endingLoss(own.with(t, value + change), base).loss
      const slope = (at(step) - at(-step)) / (2 * step)
      expect(Math.abs((gradient[t] ?? NaN) - slope)).toBeLessThan(
        1e-3 * Math.max(1, Math.abs(slope)),
      )
    }
  })

  it('stays finite where one side is certain', () => {
    const { loss, gradient } = endingLoss([0, -1000, -1e-9, 0], [-1000, 0, -1e-9, -20])
    expect(Number.isFinite(loss)).toBe(true)
    expect([...gradient].every(Number.isFinite)).toBe(true)
  })
})
