import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimate, mostPoints } from './lttb.ts'

interface Point {
  x: number
  y: number | null
}

const reading = { x: (point: Point) => point.x, y: (point: Point) => point.y }
const curve = (length: number, y: (x: number) => number | null): Point[] =>
  Array.from({ length }, (_, x) => ({ x, y: y(x) }))

describe('decimate', () => {
  it('leaves a short series alone, gaps included', () => {
    const points = curve(1000, (x) => (x % 7 === 0 ? null : x))
    expect(decimate(points, reading)).toEqual(points)
  })

  it('keeps at most a thousand of a hundred thousand, with both ends', () => {
    const points = curve(100_000, (x) => Math.sin(x / 500))
    const kept = decimate(points, reading)
    expect(kept).toHaveLength(mostPoints)
    expect([kept[0], kept.at(-1)]).toEqual([points[0], points.at(-1)])
  })

  it('keeps a single spike that an even choice would miss', () => {
    const kept = decimate(
      curve(50_000, (x) => (x === 31_415 ? 100 : 0)),
      reading,
    )
    expect(Math.max(...kept.map((point) => point.y ?? 0))).toBe(100)
  })

  it('survives gaps and numbers that are none', () => {
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, null]
    const kept = decimate(
      curve(5000, (x) => odd[x % 4] ?? (x % 4 === 3 ? x : null)),
      reading,
      100,
    )
    expect(kept).toHaveLength(100)
    expect(kept.every(({ y }) => y !== null && Number.isFinite(y))).toBe(true)
    expect(
      decimate(
        curve(5000, () => null),
        reading,
      ),
    ).toEqual([])
  })

  it('gives an ordered part of the series for any values and limit', () => {
    const values = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 300 })
    fc.assert(
      fc.property(values, fc.integer({ min: 3, max: 60 }), (ys, limit) => {
        const points = ys.map((y, x) => ({ x, y }))
        const kept = decimate(points, reading, limit)
        expect(kept).toHaveLength(Math.min(limit, points.length))
        expect(kept.map(({ x }) => x)).toEqual(kept.map(({ x }) => x).toSorted((a, b) => a - b))
        expect(new Set(kept.map(({ x }) => x)).size).toBe(kept.length)
      }),
    )
  })
})
