import { expect, test } from 'vitest'
import { createProgress, duration } from './progress.ts'
import { shareText, table, type Row } from './report.ts'

const row: Row = {
  setting: 'separate',
  persona: 'brief',
  method: 'hybrid',
  seed: 1,
  sessionsToTarget: 7,
  cap: 24,
  firstReply: { before: [0, 50], after: [45, 50] },
  control: { kl: 0.0712, lengthRatio: 0.951, repetition: 0.034 },
  seconds: 612,
  sessions: '00 00 11 1',
  reached: true,
}

test('the table names the target that was not reached instead of hiding it behind the cap', () => {
  const lines = table([row, { ...row, reached: false, sessionsToTarget: 24 }]).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[1]).toContain('brief    hybrid  1     7 ')
  expect(lines[1]).toContain('00 00 11 1     0 of 50 (0–7%)  45 of 50 (79–96%)  0.071')
  expect(lines[2]).toContain('not in 24')
})

test('a share is shown with its interval', () => {
  expect(shareText([14, 16])).toBe('14 of 16 (64–97%)')
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

test('durations are in seconds, then in minutes', () => {
  expect(duration(12.2)).toBe('13 s')
  expect(duration(600)).toBe('10 min')
})
