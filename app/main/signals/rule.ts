// What a rule is: a pure function over the next state that says nothing when it is not sure.
import type { NextState } from '../../shared/contract/prm.ts'
import type { RewardValue } from '../../shared/domain/turn.ts'

export interface RuleVerdict {
  readonly value: RewardValue
  /** The words or the fact that made the rule speak. */
  readonly cue: string
}

export interface Rule {
  readonly name: string
  readonly weight: number
  readonly apply: (state: NextState) => RuleVerdict | null
}
