import { expect, test } from 'vitest'
import { fakeJudge } from '../../../test/support/judge-port.ts'
import { judgeExamples, macroF1, runSelfTest } from './self-test.ts'

test('the bundled examples are many, balanced, different and in both languages', () => {
  const examples = judgeExamples()
  expect(examples.length).toBeGreaterThanOrEqual(60)
  for (const label of [1, 0, -1]) {
    const share = examples.filter((example) => example.label === label).length / examples.length
    expect(share).toBeGreaterThan(0.25)
  }
  const chinese = examples.filter(({ state }) => /\p{Script=Han}/u.test(state.request)).length
  expect(chinese / examples.length).toBeGreaterThan(0.3)
  expect(chinese / examples.length).toBeLessThan(0.7)
  const texts = examples.map(
    ({ state }) => `${state.request} ${state.reply} ${state.messages[0]?.text}`,
  )
  expect(new Set(texts).size).toBe(examples.length)
})

test('macro-F1 is the mean over the three labels', () => {
  expect(macroF1([])).toBe(0)
  expect(
    macroF1([
      { label: 1, said: 1 },
      { label: -1, said: -1 },
      { label: 0, said: 0 },
    ]),
  ).toBe(1)
  // +1: 1 hit, 1 false alarm → 2/3; −1: missed → 0; 0: 1 hit → 1.
  expect(
    macroF1([
      { label: 1, said: 1 },
      { label: -1, said: 1 },
      { label: 0, said: 0 },
    ]),
  ).toBeCloseTo((2 / 3 + 0 + 1) / 3, 12)
  // An undecided case is a miss, never a 0.
  expect(
    macroF1([
      { label: 0, said: null },
      { label: 1, said: 1 },
      { label: -1, said: -1 },
    ]),
  ).toBeCloseTo(2 / 3, 12)
})

test('a judge with one answer for everything does not pass', async () => {
  const judge = fakeJudge({ generate: () => '\\boxed{-1}' })
  const result = await runSelfTest({ mode: 'generate' }, judge.port)
  expect(result.passed).toBe(false)
  expect(result.macroF1).toBeCloseTo(1 / 6, 6)
})

test('a judge that cannot be reached is given up and does not pass', async () => {
  const judge = fakeJudge({})
  const result = await runSelfTest({ mode: 'score' }, judge.port)
  expect(result).toEqual({
    mode: 'score',
    macroF1: 0,
    cases: judgeExamples().length,
    passed: false,
  })
  expect(judge.scored.length).toBeLessThan(20)
})
