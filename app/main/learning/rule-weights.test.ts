import { expect, it } from 'vitest'
import { ruleWeights, weighRules } from './rule-weights.ts'

const weightOf = (agreed: number, contradicted: number) =>
  weighRules([{ rule: 'a', agreed, contradicted }])[0]?.weight

it('starts at 1, rises with agreement and falls with contradiction, within 0 and 2', () => {
  expect(weightOf(0, 0)).toBe(1)
  expect(weightOf(1, 0)).toBeCloseTo(1.2, 12)
  expect(weightOf(0, 1)).toBeCloseTo(0.8, 12)
  expect(weightOf(5, 2)).toBeCloseTo(14 / 11, 12)
  expect(weightOf(0, 100)).toBeGreaterThan(0)
  expect(weightOf(100, 0)).toBeLessThan(2)
})

it('names each rule for the judge', () => {
  const records = [
    { rule: 'thanks', agreed: 0, contradicted: 4 },
    { rule: 'corrects-reply', agreed: 2, contradicted: 2 },
  ]
  expect(ruleWeights(records)).toEqual({ thanks: 0.5, 'corrects-reply': 1 })
  expect(ruleWeights([])).toEqual({})
})
