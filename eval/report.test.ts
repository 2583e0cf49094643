import { expect, test } from 'vitest'
import { groupsOf, sessionsText } from './aggregate.ts'
import { modelRow } from './example-rows.ts'
import { createPlanProgress, createProgress, duration } from './progress.ts'
import { baseLine, methodText, rowLine, shareText, table } from './report.ts'

test('the seeds of one method are one line with each seed’s own value', () => {
  const lines = table([
    modelRow({ seed: 2, sessionsToTarget: 9 }),
    modelRow({ seed: 1, sessionsToTarget: 6 }),
    modelRow({ method: 'none', reached: false, sessionsToTarget: 24 }),
  ]).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[1]).toContain('7.5 (6, 9)')
  expect(lines[1]).toContain('90 of 100')
  expect(lines[2]).toContain('24+')
})

test('a run that did not get there counts as the cap and says so', () => {
  const rows = [
    modelRow({ seed: 1, sessionsToTarget: 12 }),
    modelRow({ seed: 2, sessionsToTarget: 24, reached: false }),
  ]
  const [group] = groupsOf(rows)
  expect(group === undefined ? '' : sessionsText(group)).toBe('18.0 (12, 24+)')
  expect(rowLine(modelRow({ reached: false, sessionsToTarget: 24 }))).toContain('not in 24')
})

test('rows with wrong signals, another setting or another cap are not put together', () => {
  const rows = [
    modelRow({}),
    modelRow({ wrongSignals: 0.1 }),
    modelRow({ variant: 'K = 8' }),
    modelRow({ setting: 'joint' }),
    modelRow({ cap: 72 }),
    modelRow({ model: 'other.gguf' }),
  ]
  expect(groupsOf(rows)).toHaveLength(6)
  expect(groupsOf(rows).map(methodText)).toContain('hybrid, 10% wrong signals')
  expect(groupsOf(rows).map(methodText)).toContain('hybrid, K = 8')
})

test('a share is shown with its interval, and none as a dash', () => {
  expect(shareText([14, 16])).toBe('14 of 16 (64–97%)')
  expect(shareText([0, 0])).toBe('–')
})

test('a base rate is told as a sentence with both shares', () => {
  const line = baseLine({
    kind: 'base',
    model: 'm.gguf',
    persona: 'brief',
    wish: 'at most 40 words',
    bare: [true, false, false, false],
    scores: [1, 0, 0, 0],
    told: [true, true],
    seconds: 1,
  })
  expect(line).toContain('1 of 4')
  expect(line).toContain('2 of 2')
})

test('progress counts down to done and forgets work that is not needed', () => {
  const lines: string[] = []
  const progress = createProgress(10, (line) => lines.push(line))
  progress.report('first', 2)
  progress.note('a note')
  progress.skip(4)
  progress.report('second', 4)
  expect(lines[0]).toMatch(/^first · at most \d+ s left$/)
  expect(lines.slice(1)).toEqual(['a note', 'second · done'])
})

test('away from a terminal each part is announced with the time of all that is left', () => {
  const lines: string[] = []
  using progress = createPlanProgress({ isTerminal: false, print: (line) => lines.push(line) })
  progress.startPart({ name: 'brief · grpo', done: 3, all: 10, seconds: 60, later: 3540 })
  progress.print('a line')
  expect(lines).toEqual([
    '\n[4 of 10] brief · grpo · about 60 s, 60 min for all that is left',
    'a line',
  ])
})

test('durations are in seconds, then in minutes, then in hours', () => {
  expect(duration(12.2)).toBe('13 s')
  expect(duration(600)).toBe('10 min')
  expect(duration(7 * 3600 + 100)).toBe('7 h 2 min')
})
