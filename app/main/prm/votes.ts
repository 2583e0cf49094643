// Votes → reward (DESIGN 5.3). Invalid votes are counted by whoever lists them and never act as a 0.
import type { NextState, Verdict } from '../../shared/contract/prm.ts'
import type { NewVote, RewardValue } from '../../shared/domain/turn.ts'

export type Decision = Verdict['reward']

const values: readonly RewardValue[] = [-1, 0, 1]
/** A regenerate alone (weight ½) must decide, so the lead that decides is ½. */
const decidingLead = 0.5
const rounding = 1e-9

/** Weights are added per label; the highest wins if it leads by at least ½, else 0; no valid vote is undecided. */
export function tally(votes: readonly NewVote[]): Decision {
  const sums = new Map<RewardValue, number>(values.map((value) => [value, 0]))
  for (const { value, weight } of votes) {
    if (value === null || !Number.isFinite(weight) || weight <= 0) continue
    sums.set(value, (sums.get(value) ?? 0) + weight)
  }
  const ranked = [...sums].sort((a, b) => b[1] - a[1])
  const [first, second] = ranked
  if (first === undefined || second === undefined || first[1] === 0) return { kind: 'undecided' }
  const leads = first[1] - second[1] >= decidingLead - rounding
  return { kind: 'decided', value: leads ? first[0] : 0, by: 'votes' }
}

/** Thumbs decide alone, the last one given; then an edit of the reply. Null where the user gave neither. */
export function explicitVote(state: NextState): { vote: NewVote; decision: Decision } | null {
  const thumb = state.signals.findLast((signal) => signal.kind === 'thumb')
  if (thumb !== undefined) {
    return explicit('thumb', thumb.value, thumb.text)
  }
  const edit = state.signals.findLast((signal) => signal.kind === 'edit')
  return edit === undefined || edit.text === state.reply ? null : explicit('edit', -1, edit.text)
}

function explicit(
  by: 'thumb' | 'edit',
  value: RewardValue,
  raw: string,
): { vote: NewVote; decision: Decision } {
  return {
    vote: { source: 'user', name: by, value, weight: 1, raw, durationMs: 0 },
    decision: { kind: 'decided', value, by },
  }
}
