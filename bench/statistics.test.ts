import { expect, test } from 'vitest'
import { fitLine, median } from './statistics.ts'

test('the median is the middle value, or the mean of the middle two', () => {
  expect(median([9, 1, 4])).toBe(4)
  expect(median([9, 1, 4, 2])).toBe(3)
  expect(median([])).toBeNaN()
})

test('a line through exact points is found again', () => {
  const points = [1, 2, 5].map((x) => ({ x, y: 3 * x - 1 }))
  const { slope, offset } = fitLine(points)
  expect(slope).toBeCloseTo(3, 12)
  expect(offset).toBeCloseTo(-1, 12)
})
