import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergeStream } from './streaming.ts'

describe('mergeStream', () => {
  it('joins an older stored text with the tokens that came since', () => {
    expect(mergeStream('Osmosis is', 'is the')).toBe('Osmosis is the')
    expect(mergeStream('', 'Osmosis')).toBe('Osmosis')
    expect(mergeStream('Osmosis', '')).toBe('Osmosis')
    expect(mergeStream('Osmo', 'Osmosis is')).toBe('Osmosis is')
  })

  it('never loses text: whatever the overlap, the whole reply comes out', () => {
    // Distinct letters, so that the length of the overlap is certain.
    const whole = 'abcdefghijklmnopqrstuvwxyz'
    fc.assert(
      fc.property(fc.nat(26), fc.nat(26), fc.nat(26), (a, b, c) => {
        const [from, stored, to] = [a, b, c].toSorted((x, y) => x - y) as [number, number, number]
        expect(mergeStream(whole.slice(0, stored), whole.slice(from, to))).toBe(whole.slice(0, to))
      }),
    )
  })
})
