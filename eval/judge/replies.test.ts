import { expect, test } from 'vitest'
import { measure } from './measure.ts'
import { labelledReplies } from './replies.ts'
import { pairOf, verdictOfRules } from './rules.ts'

test('there are 200 replies, each once, half of them kept for the test', () => {
  const all = labelledReplies()
  expect(new Set(all.map(({ id }) => id)).size).toBe(200)
  expect(new Set(all.map(({ state }) => state.request + JSON.stringify(state.messages))).size).toBe(
    200,
  )
  expect(labelledReplies('test')).toHaveLength(100)
  for (const language of ['en', 'zh', 'mixed']) {
    expect(all.filter((row) => row.language === language).length).toBeGreaterThanOrEqual(5)
  }
})

// The floor lies below the figure of the day (0.90) so that one reply more or less is no failure.
test('the rules read the development half well', async () => {
  const replies = labelledReplies('dev')
  const pairs = await Promise.all(
    replies.map(async (reply) => pairOf(reply, await verdictOfRules(reply))),
  )
  expect(measure(pairs).macroF1).toBeGreaterThan(0.86)
})

test('measuring counts undecided as 0 and shows it apart', () => {
  const result = measure([
    { label: 1, said: 1 },
    { label: 0, said: null },
    { label: -1, said: null },
    { label: -1, said: -1 },
  ])
  expect(result.f1).toEqual({ '1': 1, '0': 2 / 3, '-1': 2 / 3 })
  expect(result.coverage).toBe(0.5)
  expect(result.confusion[1]).toEqual([0, 0, 0, 1])
})
