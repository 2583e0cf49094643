import { expect, test } from 'vitest'
import { closingLines } from './closing-lines.ts'
import { reasonInName } from './totals-reporter.ts'

const skipped = { tier: 'e2e', file: 'test/e2e/a.test.ts', name: 'a', reason: 'no browser here' }

test('skipped tests are named in groups with their reason, and the totals come last', () => {
  const lines = closingLines({
    passed: 3,
    failed: 1,
    brokenFiles: 0,
    skipped: [skipped, { ...skipped, name: 'b' }, { ...skipped, name: 'c', reason: null }],
  })
  expect(lines).toEqual([
    'skipped 2 of e2e test/e2e/a.test.ts: no browser here',
    'skipped 1 of e2e test/e2e/a.test.ts: no reason given',
    '3 passed, 1 failed, 3 skipped',
  ])
})

test('a file that could not be loaded counts as a failure', () => {
  const lines = closingLines({ passed: 5, failed: 0, brokenFiles: 1, skipped: [] })
  expect(lines.at(-1)).toBe('5 passed, 1 failed, 0 skipped')
})

test('a reason is found in the name of a group, or is the name of the test', () => {
  const group = 'the second model (skipped without its file)'
  expect(reasonInName(`${group} > scores`, 'scores')).toBe('skipped without its file')
  const lone = 'no GPU that ggml can use here: cuda: no driver'
  expect(reasonInName(lone, lone)).toBe(lone)
})
