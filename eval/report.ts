import { wilson } from '../app/main/learning/statistics.ts'

/** One line of the table; the JSON holds these as they are. */
export interface Row {
  readonly setting: 'joint' | 'separate'
  readonly persona: string
  readonly method: string
  readonly seed: number
  readonly sessionsToTarget: number
  readonly cap: number
  /** Satisfied and asked. */
  readonly firstReply: {
    readonly before: readonly [number, number]
    readonly after: readonly [number, number]
  }
  readonly control: {
    readonly kl: number
    readonly lengthRatio: number
    readonly repetition: number
  }
  readonly seconds: number
  /** First replies of the sessions, `00 00 11 11`: a gap after each training. */
  readonly sessions: string
  readonly reached: boolean
}

export interface Result {
  readonly model: string
  readonly rows: readonly Row[]
}

const head = [
  'persona',
  'method',
  'seed',
  'sessions to target',
  'first replies',
  'before',
  'after',
  'neutral KL',
  'length',
  'repetition',
  'seconds',
]

export function table(rows: readonly Row[]): string {
  const lines = [head, ...rows.map(cells)]
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

function cells(row: Row): string[] {
  const { firstReply, control } = row
  return [
    row.persona,
    row.method,
    String(row.seed),
    row.reached ? String(row.sessionsToTarget) : `not in ${row.cap}`,
    row.sessions,
    shareText(firstReply.before),
    shareText(firstReply.after),
    control.kl.toFixed(3),
    `${control.lengthRatio.toFixed(2)}×`,
    `${(control.repetition * 100).toFixed(0)}%`,
    row.seconds.toFixed(0),
  ]
}

/** `14 of 50 (18–42%)`: the 95% Wilson interval. */
export function shareText([satisfied, asked]: readonly [number, number]): string {
  const { low, high } = wilson(satisfied, asked)
  return `${satisfied} of ${asked} (${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)}%)`
}
