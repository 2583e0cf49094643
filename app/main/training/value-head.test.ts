import { describe, expect, it } from 'vitest'
import { finiteDifferences } from '../../../test/support/finite-differences.ts'
import { valueLoss } from './losses/value.ts'
import { createValueHead } from './value-head.ts'

const hidden = Float32Array.from([3, 4, 0, 0, 0, 2, 1, 1, 1]) // [3, 3]
const returns = [1, -1, 0.5]

describe('value loss', () => {
  it('agrees with finite differences in its weights', () => {
    const point = [0.3, -0.2, 0.7, 0.1]
    // Sixteenths and halves are exact in 32 bits, so that the differences are not of rounding.
    const states = Float32Array.from([0.5, 0.25, -1, 2, 0, 0.0625])
    const targets = [1, -0.5]
    const lossOf = (values: readonly number[]) =>
      targets.reduce((sum, target, t) => {
        const value = values
          .slice(0, 3)
          .reduce((total, w, c) => total + w * (states[t * 3 + c] ?? NaN), values[3] ?? NaN)
        return sum + (value - target) ** 2 / 4
      }, 0)
    const weights = { w: Float32Array.from(point.slice(0, 3)), b: Float32Array.of(0.1) }
    const { loss, gradient } = valueLoss(states, targets, weights)
    expect(loss).toBeCloseTo(lossOf(point), 6)
    const numeric = finiteDifferences(lossOf, point)
    const ours = [...gradient.w, ...gradient.b]
    numeric.forEach((value, index) => expect(ours[index]).toBeCloseTo(value, 6))
  })
})

describe('value head', () => {
  it('expects nothing at first and learns what came', () => {
    const head = createValueHead(3)
    expect([...head.values(hidden)]).toEqual([0, 0, 0])
    const losses = Array.from({ length: 300 }, () => head.step([{ hidden, returns }]) ?? NaN)
    expect(losses[0]).toBeCloseTo((1 + 1 + 0.25) / 6, 6)
    expect(losses.at(-1)).toBeLessThan(0.02)
    head.values(hidden).forEach((value, t) => expect(value).toBeCloseTo(returns[t] ?? NaN, 0))
  })

  it('goes on from its bytes exactly as if it had not stopped', () => {
    const straight = createValueHead(3)
    const first = createValueHead(3)
    for (const head of [straight, first]) head.step([{ hidden, returns }])
    const second = createValueHead(3, first.serialise())
    for (const head of [straight, second])
      head.step([
        { hidden, returns },
        { hidden, returns },
      ])
    expect(second.serialise()).toEqual(straight.serialise())
    expect(second.serialise()).not.toEqual(first.serialise())
  })

  it('does not move without a reply, and refuses bytes of another width', () => {
    const head = createValueHead(3)
    const before = head.serialise()
    expect(head.step([])).toBeNull()
    expect(head.serialise()).toEqual(before)
    const corrupt = expect.objectContaining({ code: 'corrupt' })
    expect(() => createValueHead(4, before)).toThrow(corrupt)
    expect(() => createValueHead(3, before.subarray(0, 9))).toThrow(corrupt)
  })
})
