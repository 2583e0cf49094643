/** 1-based index of the third success in a row; null when the outcomes hold no such row. */
export function thirdInARow(outcomes: readonly boolean[]): number | null {
  const index = outcomes.findIndex(
    (outcome, last) => last >= 2 && outcome && outcomes[last - 1] && outcomes[last - 2],
  )
  return index < 0 ? null : index + 1
}

/** Sessions to target; not reached counts as the cap. */
export function sessionsToTarget(outcomes: readonly boolean[], cap: number): number {
  return thirdInARow(outcomes.slice(0, cap)) ?? cap
}

/** So many trainings come at the full rate; after them the gaps are twice as long, which saves hours. */
const denseTrainings = 5

/** Whether a training may follow the round (1-based): every `trainEvery` rounds, later every second such time. */
export function isTrainingDue(round: number, trainEvery: number): boolean {
  if (round <= 0 || round % trainEvery !== 0) return false
  const turn = round / trainEvery
  return turn <= denseTrainings || (turn - denseTrainings) % 2 === 0
}

/** `00 00 11 11`: one digit a session, a gap after each training; `trainedAfter`: the sessions (1-based) it followed. */
export function outcomeString(
  outcomes: readonly boolean[],
  trainedAfter: readonly number[],
): string {
  return outcomes
    .map((outcome, index) => {
      const gap = trainedAfter.includes(index) ? ' ' : ''
      return `${gap}${outcome ? '1' : '0'}`
    })
    .join('')
}

export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('the mean of no values')
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Share of 4-grams of words (of characters where there are no spaces) that were there before. */
export function repetition(text: string): number {
  const words = text.toLowerCase().match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? []
  const grams = words.slice(3).map((_, index) => words.slice(index, index + 4).join(' '))
  return grams.length === 0 ? 0 : 1 - new Set(grams).size / grams.length
}

/** Sørensen–Dice similarity of the two texts' character trigrams, 0–1. */
export function similarity(left: string, right: string): number {
  return dice(trigrams(left), trigrams(right))
}

/** Pairs of the two lists that are more alike than the limit. */
export function similarPairs(
  left: readonly string[],
  right: readonly string[],
  limit: number,
): [string, string][] {
  const rightGrams = right.map((text) => ({ text, grams: trigrams(text) }))
  return left.flatMap((text) => {
    const grams = trigrams(text)
    return rightGrams
      .filter((other) => dice(grams, other.grams) > limit)
      .map((other): [string, string] => [text, other.text])
  })
}

function dice(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const total = left.size + right.size
  let shared = 0
  for (const gram of left) if (right.has(gram)) shared++
  return total === 0 ? 0 : (2 * shared) / total
}

function trigrams(text: string): Set<string> {
  const plain = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  const padded = ` ${plain} `
  const grams = new Set<string>()
  for (let index = 0; index + 3 <= padded.length; index++) grams.add(padded.slice(index, index + 3))
  return grams
}
