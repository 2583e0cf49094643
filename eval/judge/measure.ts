// How often a judge agrees with the labels. An undecided turn counts as 0 here, since both leave the weights alone;
// coverage says how many were decided at all.
import type { RewardValue } from '../../app/shared/domain/turn.ts'

export interface Pair {
  readonly label: RewardValue
  /** null: undecided. */
  readonly said: RewardValue | null
}

export interface Measured {
  readonly cases: number
  /** Share of the cases that were decided. */
  readonly coverage: number
  readonly accuracy: number
  readonly macroF1: number
  /** By label. */
  readonly f1: Readonly<Record<'1' | '0' | '-1', number>>
  /** confusion[label][said], both in the order 1, 0, −1, then undecided. */
  readonly confusion: readonly (readonly number[])[]
}

const order: readonly RewardValue[] = [1, 0, -1]

export function measure(pairs: readonly Pair[]): Measured {
  const f1 = order.map((label) => {
    const hits = pairs.filter((pair) => pair.label === label && (pair.said ?? 0) === label).length
    const errors = pairs.filter(
      (pair) => (pair.label === label) !== ((pair.said ?? 0) === label),
    ).length
    return hits === 0 ? 0 : (2 * hits) / (2 * hits + errors)
  })
  const [good = 0, neutral = 0, bad = 0] = f1
  const count = (holds: (pair: Pair) => boolean): number => pairs.filter(holds).length
  return {
    cases: pairs.length,
    coverage: count(({ said }) => said !== null) / pairs.length,
    accuracy: count(({ label, said }) => (said ?? 0) === label) / pairs.length,
    macroF1: (good + neutral + bad) / order.length,
    f1: { '1': good, '0': neutral, '-1': bad },
    confusion: order.map((label) =>
      [...order, null].map((said) => count((pair) => pair.label === label && pair.said === said)),
    ),
  }
}

export function table(name: string, result: Measured): string {
  const percent = (value: number): string => `${Math.round(value * 100)}%`
  const { f1, confusion } = result
  const rows = confusion.map(
    (row, index) =>
      `  label ${String(order[index]).padStart(2)} | ${row.map((n) => String(n).padStart(4)).join(' ')}`,
  )
  return [
    `${name}: macro-F1 ${result.macroF1.toFixed(3)} (+1 ${f1['1'].toFixed(2)}, 0 ${f1['0'].toFixed(2)}, -1 ${f1['-1'].toFixed(2)}), accuracy ${percent(result.accuracy)}, decided ${percent(result.coverage)} of ${result.cases}`,
    '  said     |   +1    0   -1 undecided',
    ...rows,
  ].join('\n')
}
