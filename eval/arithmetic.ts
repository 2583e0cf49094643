// Simple sums as a control: what was learned about form must not cost what the model knew.

export interface Sum {
  readonly question: string
  readonly answer: number
}

const pairs: readonly (readonly [number, number])[] = [
  ...([
    [3, 4],
    [5, 2],
    [8, 1],
    [6, 3],
    [2, 7],
  ] as const),
  ...([
    [10, 5],
    [12, 3],
    [20, 10],
    [15, 4],
    [11, 6],
  ] as const),
  ...([
    [25, 25],
    [30, 12],
    [40, 15],
    [18, 11],
    [50, 27],
  ] as const),
  ...([
    [9, 8],
    [7, 6],
    [13, 9],
    [100, 20],
    [64, 6],
  ] as const),
]

/** Twenty questions; no answer is one of the numbers in its question. */
export const sums: readonly Sum[] = pairs.map(([left, right], index) =>
  index % 2 === 0 || left - right === right
    ? { question: `What is ${left} + ${right}?`, answer: left + right }
    : { question: `What is ${left} - ${right}?`, answer: left - right },
)

/** Looks at the last number that is stated as a result ("= 7", "is 7"), else at the last number of the reply. */
export function isRight({ answer }: Pick<Sum, 'answer'>, reply: string): boolean {
  const stated = [...reply.matchAll(/(?:=|\bis|\bequals?|\bare)\s*:?\s*\**(-?\d[\d,]*)/g)]
  const numbers = stated.length > 0 ? stated : [...reply.matchAll(/(-?\d[\d,]*)/g)]
  return numberOf(numbers.at(-1)?.[1] ?? '') === answer
}

function numberOf(text: string): number {
  return text === '' ? Number.NaN : Number(text.replaceAll(',', ''))
}

/** Whether two shares of the same number of questions differ by no more than chance would (95%, two-sided). */
export function isWithinNoise(
  [before, asked]: readonly [number, number],
  [after, askedAfter]: readonly [number, number],
): boolean {
  const share = (before + after) / (asked + askedAfter)
  const deviation = Math.sqrt(share * (1 - share) * (1 / asked + 1 / askedAfter))
  return Math.abs(before / asked - after / askedAfter) <= 1.96 * deviation + 1e-9
}
