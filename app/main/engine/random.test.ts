import { expect, it } from 'vitest'
import { seededRandom } from './random.ts'

it('gives the same numbers for the same seed and others for another', () => {
  const draw = (seed: number): number[] => {
    const random = seededRandom(seed)
    return Array.from({ length: 8 }, () => random.normal())
  }
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

it('draws normal numbers with mean 0, variance 1 and kurtosis 3', () => {
  const random = seededRandom(3)
  const values = Array.from({ length: 200_000 }, () => random.normal())
  const mean = (power: number): number =>
    values.reduce((sum, value) => sum + value ** power, 0) / values.length
  expect(mean(1)).toBeCloseTo(0, 2)
  expect(mean(2)).toBeCloseTo(1, 1)
  expect(Math.abs(mean(4) - 3)).toBeLessThan(0.1)
})
