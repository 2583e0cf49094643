import { expect, it } from 'vitest'
import { formatNumber, formatSeconds, formatSize } from './format.ts'

it('writes numbers short, and a dash for what is none', () => {
  expect(formatNumber(-0.5)).toBe('−0.50')
  expect(formatNumber(0)).toBe('0.00')
  expect(formatNumber(0.00031)).toBe('3.1e-4')
  for (const value of [null, undefined, Number.NaN, Number.NEGATIVE_INFINITY]) {
    expect(formatNumber(value)).toBe('–')
  }
})

it('writes sizes and times in the unit that fits', () => {
  expect(formatSize(98_362_432)).toBe('98.4 MB')
  expect(formatSize(12)).toBe('12 B')
  expect(formatSeconds(3.21)).toBe('3.2 s')
  expect(formatSeconds(126)).toBe('2 min 6 s')
  expect(formatSeconds(7260)).toBe('2 h 1 min')
})
