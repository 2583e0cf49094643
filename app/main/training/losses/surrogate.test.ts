import { describe, expect, it } from 'vitest'
import { clippedSurrogate } from './surrogate.ts'

const clip = { low: 0.2, high: 0.28 }

describe('clipped surrogate', () => {
  it('is −A·ρ with slope −A·ρ while the ratio is inside the clip', () => {
    const value = clippedSurrogate(2, Math.log(1.1), clip)
    expect(value.loss).toBeCloseTo(-2.2, 12)
    expect(value.slope).toBeCloseTo(-2.2, 12)
    expect(value.clipped).toBe(false)
  })

  it('stops a praised token once its probability has risen by 28 %', () => {
    const value = clippedSurrogate(1, Math.log(1.5), clip)
    expect(value.loss).toBeCloseTo(-1.28, 12)
    expect(value).toMatchObject({ slope: 0, clipped: true })
  })

  it('stops a blamed token once its probability has fallen by 20 %', () => {
    const value = clippedSurrogate(-1, Math.log(0.5), clip)
    expect(value.loss).toBeCloseTo(0.8, 12)
    expect(value).toMatchObject({ slope: 0, clipped: true })
  })

  it('still corrects a token that moved the wrong way', () => {
    expect(clippedSurrogate(1, Math.log(0.5), clip).slope).toBeCloseTo(-0.5, 12)
    expect(clippedSurrogate(-1, Math.log(1.5), clip).slope).toBeCloseTo(1.5, 12)
  })

  it('keeps the log-ratio within 20 nats', () => {
    const value = clippedSurrogate(-1, 500, clip)
    expect(value.loss).toBeCloseTo(Math.exp(20), 3)
    expect(value.slope).toBe(0)
  })
})
