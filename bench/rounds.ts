// Measuring on a machine on which others work too: the cases take turns, so that a slow minute hits all of them, and
// the best and the middle of all rounds are told.
import { isAppError } from '../app/shared/errors.ts'
import type { StepReport } from './report-line.ts'
import { median } from './statistics.ts'

export interface Case {
  readonly name: string
  /** One fresh process. */
  readonly measure: () => Promise<StepReport>
  /** A failure is told as a reason instead of ending the bench. */
  readonly optional: boolean
}

export type Outcome =
  | { readonly kind: 'measured'; readonly reports: readonly StepReport[] }
  | { readonly kind: 'skipped'; readonly reason: string }

/** `onResult` hears what each process found, for people who wait. */
export async function takeTurns<Name extends string>(
  cases: readonly (Case & { readonly name: Name })[],
  rounds: number,
  onResult: (text: string) => void,
): Promise<Record<Name, Outcome>> {
  const outcomes = new Map<Name, Outcome>()
  for (let round = 1; round <= rounds; round += 1) {
    for (const one of cases) {
      const before = outcomes.get(one.name) ?? { kind: 'measured', reports: [] }
      if (before.kind === 'skipped') continue
      const outcome = await measureOnce(one, before.reports)
      outcomes.set(one.name, outcome)
      onResult(`round ${round} of ${rounds}, ${one.name}: ${describe(outcome)}`)
    }
  }
  return Object.fromEntries(outcomes) as Record<Name, Outcome>
}

async function measureOnce(one: Case, before: readonly StepReport[]): Promise<Outcome> {
  try {
    return { kind: 'measured', reports: [...before, await one.measure()] }
  } catch (error) {
    if (!one.optional || !isAppError(error)) throw error
    return { kind: 'skipped', reason: error.message }
  }
}

function describe(outcome: Outcome): string {
  if (outcome.kind === 'skipped') return outcome.reason
  const seconds = outcome.reports.at(-1)?.seconds ?? []
  return `${Math.min(...seconds).toFixed(2)} s a step`
}

export interface Summary {
  readonly tokensPerSecond: number
  readonly medianTokensPerSecond: number
  readonly peakBytes: number
  readonly loadedBytes: number
  readonly loss: number
  readonly gradientNorm: number
}

/** Of all steps of all rounds; `tokens` is the number of input tokens of a step. */
export function summarise(outcome: Outcome, tokens: number): Summary | null {
  if (outcome.kind === 'skipped') return null
  const { reports } = outcome
  const seconds = reports.flatMap((report) => report.seconds)
  const last = reports.at(-1)
  if (last === undefined) return null
  return {
    tokensPerSecond: tokens / Math.min(...seconds),
    medianTokensPerSecond: tokens / median(seconds),
    peakBytes: Math.max(...reports.map(({ peakBytes }) => peakBytes)),
    loadedBytes: Math.max(...reports.map(({ loadedBytes }) => loadedBytes)),
    loss: last.loss,
    gradientNorm: last.gradientNorm,
  }
}
