import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mergeTop, topOfRows } from './top-k.ts'

it('orders equal numbers by position', () => {
  const matrix = Float32Array.of(1, 3, 3, 2, 3, /* next row */ 5, 5, 5, 5, 5)
  const top = topOfRows(matrix, { rows: 2, columns: 5, count: 3 })
  expect([...top.ids]).toEqual([1, 2, 4, 0, 1, 2])
  expect([...top.values]).toEqual([3, 3, 3, 5, 5, 5])
})

it('agrees with a stable sort', () => {
  const rows = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 5, maxLength: 40 })
  const agrees = (line: number[]): void => {
    const sorted = line.map((value, id) => ({ value, id })).sort((x, y) => y.value - x.value)
    const request = { rows: 1, columns: line.length, count: 5 }
    const top = topOfRows(Float32Array.from(line), request)
    expect([...top.ids]).toEqual(sorted.slice(0, 5).map(({ id }) => id))
  }
  fc.assert(fc.property(rows, agrees), { numRuns: 300, seed: 5 })
})

it('the largest of no numbers at all are NaN, not token 0 with probability 1', () => {
  // Two slices of one position: neither found anything larger than −∞.
  const stats = Float32Array.of(NaN, NaN, -Infinity, -Infinity, 0, 0, NaN, NaN, -Infinity, 3, 0, 7)
  const found = mergeTop(stats, { row: 0, rows: 1, topK: 2 })
  expect(found).toEqual([
    { id: 7, value: 3 },
    { id: 0, value: NaN },
  ])
})
