import { expect, test } from 'vitest'
import { isRight, isWithinNoise, sums } from './arithmetic.ts'

test('the sums are twenty, distinct, and hold no answer in their question', () => {
  expect(new Set(sums.map(({ question }) => question)).size).toBe(20)
  for (const { question, answer } of sums) {
    const [left, sign, right] = question.replace(/^What is |\?$/g, '').split(' ')
    const value = Number(left) + (sign === '+' ? 1 : -1) * Number(right)
    expect(value).toBe(answer)
    expect([left, right]).not.toContain(String(answer))
  }
})

test.each([
  ['7', true],
  ['3 + 4 = 7.', true],
  ['The sum of 3 and 4 is 7.', true],
  ['3 + 4 equals **7**, since 3 + 4 = 7', true],
  ['The answer is 8.', false],
  ['3 + 4', false],
  ['I do not know.', false],
  ['', false],
])('%j is right: %s', (reply, right) => {
  expect(isRight({ answer: 7 }, reply)).toBe(right)
})

test('a difference counts as noise until chance would hardly make it', () => {
  expect(isWithinNoise([15, 20], [15, 20])).toBe(true)
  expect(isWithinNoise([15, 20], [12, 20])).toBe(true)
  expect(isWithinNoise([18, 20], [6, 20])).toBe(false)
  expect(isWithinNoise([20, 20], [20, 20])).toBe(true)
})
