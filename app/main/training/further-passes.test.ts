import { expect, it } from 'vitest'
import { isLearned } from './further-passes.ts'

it('goes on while the loss falls and is above 0.05 nat', () => {
  expect(isLearned([1.5, 1.2, 0.9], 1)).toBe(false)
  expect(isLearned([], 1)).toBe(false)
})

it('stops where hardly anything is left to learn, also right after the ordinary passes', () => {
  expect(isLearned([0.2, 0.049], 2)).toBe(true)
  expect(isLearned([0.2, 0.051], 2)).toBe(false)
})

it('stops where a further pass took less than two percent off', () => {
  expect(isLearned([1.5, 1, 0.981], 2)).toBe(true)
  expect(isLearned([1.5, 1, 0.979], 2)).toBe(false)
  expect(isLearned([1.5, 1, 1.1], 2)).toBe(true)
})

it('does not judge by ordinary passes, in which rewards may hold the loss up', () => {
  expect(isLearned([1, 1.05], 2)).toBe(false)
  expect(isLearned([1], 1)).toBe(false)
  expect(isLearned([null, null], 2)).toBe(false)
})
