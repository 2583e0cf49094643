// What was measured as text for the terminal.
import { wilson } from '../app/main/learning/statistics.ts'
import { groupsOf, pooled, sessionsText, type Group, type ModelRow } from './aggregate.ts'
import type { BaseRate, Row, Share } from './results.ts'
import { mean } from './statistics.ts'

const head = [
  'setting',
  'persona',
  'method',
  'sessions to target',
  'before',
  'after',
  'neutral KL',
  'length',
  'judge',
  'hints',
  'min',
]

/** One line for all seeds of a persona and method. */
export function table(rows: readonly ModelRow[]): string {
  const lines = [head, ...groupsOf(rows).map(cells)]
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

function cells(group: Group): string[] {
  const { rows } = group
  const control = rows.map((row) => row.control)
  return [
    group.setting,
    group.persona,
    methodText(group),
    sessionsText(group),
    shareText(pooled(rows.map(({ firstReply }) => firstReply.before))),
    shareText(pooled(rows.map(({ firstReply }) => firstReply.after))),
    mean(control.map(({ kl }) => kl)).toFixed(3),
    `${mean(control.map(({ lengthRatio }) => lengthRatio)).toFixed(2)}×`,
    percentText(pooled(rows.map(({ judge }) => judge.agreed))),
    percentText(pooled(rows.map(({ hints }) => hints))),
    mean(rows.map(({ seconds }) => seconds / 60)).toFixed(1),
  ]
}

/** The method with what sets the row apart from the usual ones. */
export function methodText({
  method,
  variant,
  wrongSignals,
}: Pick<Group, 'method' | 'variant' | 'wrongSignals'>): string {
  const wrong = wrongSignals > 0 ? `${(wrongSignals * 100).toFixed(0)}% wrong signals` : ''
  return [method, variant, wrong].filter((part) => part !== '').join(', ')
}

/** A finished row as one line of the log. */
export function rowLine(row: Row): string {
  const { control, firstReply } = row
  const sessions = row.reached ? `target at session ${row.sessionsToTarget}` : `not in ${row.cap}`
  return `  = ${row.persona}, ${methodText(row)}, seed ${row.seed}: ${sessions} (${row.sessions}), first replies ${firstReply.before.join(' of ')} before, ${firstReply.after.join(' of ')} after, neutral KL ${control.kl.toFixed(3)}, length ${control.lengthRatio.toFixed(2)}×`
}

export function baseLine(base: BaseRate): string {
  const share = (outcomes: readonly boolean[]): string =>
    shareText([outcomes.filter(Boolean).length, outcomes.length])
  return `${base.persona} (${base.wish}): the base meets it in ${share(base.bare)} by itself, in ${share(base.told)} with the hint`
}

/** `14 of 50 (18–42%)`: the 95% Wilson interval. */
export function shareText([satisfied, asked]: Share): string {
  if (asked === 0) return '–'
  const { low, high } = wilson(satisfied, asked)
  return `${satisfied} of ${asked} (${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)}%)`
}

export function percentText([part, all]: Share): string {
  return all === 0 ? '–' : `${((part / all) * 100).toFixed(0)}%`
}
