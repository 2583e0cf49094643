import { describe, expect, it } from 'vitest'
import { listedKl, repetition, wilson } from './statistics.ts'

describe('wilson', () => {
  it('gives the published interval of 8 of 10', () => {
    const { low, high } = wilson(8, 10)
    expect(low).toBeCloseTo(0.4902, 3)
    expect(high).toBeCloseTo(0.9433, 3)
  })

  it('covers everything when nothing was tried', () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 })
  })
})

describe('repetition', () => {
  it('is zero for prose and one for a loop', () => {
    const prose =
      'Water moves through a membrane from where there is much of it to where there is little.'
    expect(repetition(prose)).toBe(0)
    expect(repetition('again and again we say it '.repeat(20))).toBe(1)
  })
})

describe('listedKl', () => {
  it('is zero for equal distributions and positive otherwise, the unlisted rest included', () => {
    const p = [Math.log(0.6), Math.log(0.3)]
    expect(listedKl(p, p)).toBeCloseTo(0, 10)
    const q = [Math.log(0.3), Math.log(0.6)]
    const expected = 0.6 * Math.log(2) + 0.3 * Math.log(0.5)
    expect(listedKl(p, q)).toBeCloseTo(expected, 10)
  })
})
