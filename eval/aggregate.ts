// Rows of the same setting, persona and method, put together over seeds.
import type { Entry, Row, Share } from './results.ts'
import { mean } from './statistics.ts'

export interface Group {
  readonly model: string
  readonly setting: Row['setting']
  readonly persona: string
  readonly method: string
  readonly variant: string
  readonly wrongSignals: number
  readonly cap: number
  /** By seed. */
  readonly rows: readonly Row[]
}

export interface ModelRow extends Row {
  readonly model: string
}

/** Every row with its model, in the order in which they were finished. */
export function rowsOf(entries: readonly Entry[]): ModelRow[] {
  return entries.flatMap((entry) =>
    entry.kind === 'trial' ? entry.rows.map((row) => ({ ...row, model: entry.config.model })) : [],
  )
}

export function groupsOf(rows: readonly ModelRow[]): Group[] {
  const key = (row: ModelRow): string =>
    JSON.stringify([
      ...[row.model, row.setting, row.persona, row.method],
      ...[row.variant, row.wrongSignals, row.cap],
    ])
  return [...Map.groupBy(rows, key).values()].map((of) => {
    const [{ model, setting, persona, method, variant, wrongSignals, cap }] = of as [ModelRow]
    const bySeed = of.toSorted((left, right) => left.seed - right.seed)
    return { model, setting, persona, method, variant, wrongSignals, cap, rows: bySeed }
  })
}

export function meanSessions({ rows }: Group): number {
  return mean(rows.map(({ sessionsToTarget }) => sessionsToTarget))
}

/** `7.3 (6, 7, 9)`; a run that did not get there counts as the cap and is marked: `24+`. */
export function sessionsText(group: Group): string {
  const each = group.rows.map(({ sessionsToTarget, reached }) =>
    reached ? String(sessionsToTarget) : `${sessionsToTarget}+`,
  )
  if (each.length === 1) return each[0] ?? ''
  return `${meanSessions(group).toFixed(1)} (${each.join(', ')})`
}

export function pooled(shares: readonly Share[]): Share {
  return [
    shares.reduce((sum, [part]) => sum + part, 0),
    shares.reduce((sum, [, all]) => sum + all, 0),
  ]
}

/** The mean of what is there; null where nothing is. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : mean(known)
}
