import { describe, expect, test } from 'vitest'
import {
  isTrainingDue,
  outcomeString,
  repetition,
  sessionsToTarget,
  similarity,
  thirdInARow,
} from './statistics.ts'
import { wilson } from '../app/main/learning/statistics.ts'

const outcomes = (digits: string) => [...digits].map((digit) => digit === '1')

describe('the Wilson interval', () => {
  test('agrees with tabulated values', () => {
    const half = wilson(5, 10)
    expect(half.low).toBeCloseTo(0.2366, 4)
    expect(half.high).toBeCloseTo(0.7634, 4)
    expect(wilson(15, 50).low).toBeCloseTo(0.191, 3)
    expect(wilson(15, 50).high).toBeCloseTo(0.4375, 3)
  })

  test('stays within 0 and 1 at the ends', () => {
    expect(wilson(0, 16)).toEqual({ low: 0, high: expect.closeTo(0.1936, 4) })
    expect(wilson(16, 16)).toEqual({ low: expect.closeTo(0.8064, 4), high: 1 })
  })

  test('says nothing when nothing was counted', () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 })
  })
})

describe('sessions to target', () => {
  test.each([
    ['111', 3],
    ['00001111', 7],
    ['0111', 4],
    ['11011', null],
    ['1101101110', 9],
    ['', null],
  ])('the third success in a row of %j comes at %j', (digits, at) => {
    expect(thirdInARow(outcomes(digits))).toBe(at)
  })

  test('count as the cap when the target was not reached', () => {
    expect(sessionsToTarget(outcomes('0101'), 24)).toBe(24)
    expect(sessionsToTarget(outcomes('000111'), 5)).toBe(5)
    expect(sessionsToTarget(outcomes('000111'), 24)).toBe(6)
  })

  test('are written with a gap after each training', () => {
    expect(outcomeString(outcomes('0000111'), [2, 4, 6])).toBe('00 00 11 1')
    expect(outcomeString([], [2])).toBe('')
  })
})

test('trainings are dense at first and half as frequent later', () => {
  const due = (every: number) =>
    Array.from({ length: 24 }, (_, index) => index + 1).filter((it) => isTrainingDue(it, every))
  expect(due(2)).toEqual([2, 4, 6, 8, 10, 14, 18, 22])
  expect(due(1).slice(0, 8)).toEqual([1, 2, 3, 4, 5, 7, 9, 11])
  expect(isTrainingDue(0, 2)).toBe(false)
})

describe('repetition', () => {
  test('is 0 for a text without repeated four-word runs', () => {
    expect(repetition('The ferry leaves at nine and comes back before dark.')).toBe(0)
    expect(repetition('Yes.')).toBe(0)
  })

  test('is near 1 for a loop, in Chinese as well', () => {
    expect(repetition('I am sorry. '.repeat(40))).toBeGreaterThan(0.9)
    expect(repetition('今天天气好'.repeat(40))).toBeGreaterThan(0.9)
  })
})

test('similarity is 1 for texts that differ in case and marks and low for others', () => {
  expect(similarity('What is 9 times 8?', 'what is 9 times 8')).toBe(1)
  expect(similarity('Name four strings.', 'Where is the station?')).toBeLessThan(0.3)
})
