// How much a rule's vote weighs, learned from the thumbs on the turns it spoke about (DESIGN 5.2). Pure.
import type { RuleRecord } from '../store/types.ts'

export interface WeighedRule extends RuleRecord {
  /** Factor of the rule's own weight: 1 without evidence, at most 2. */
  readonly weight: number
}

/** As many agreements and contradictions as a rule starts with: a first thumb alone moves it by a fifth. */
const prior = 2

/** Twice the share of agreements, the prior counted in. */
export function weighRules(records: readonly RuleRecord[]): WeighedRule[] {
  return records.map((record) => {
    const { agreed, contradicted } = record
    return { ...record, weight: (2 * (agreed + prior)) / (agreed + contradicted + 2 * prior) }
  })
}

/** For the judge, by name. */
export function ruleWeights(records: readonly RuleRecord[]): Record<string, number> {
  return Object.fromEntries(weighRules(records).map(({ rule, weight }) => [rule, weight]))
}
