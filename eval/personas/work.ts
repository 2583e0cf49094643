// Homework as it passes between Student, TA and Teacher: solutions with slips, comments under them, cut to what fits.
import { pick, type Random } from '../random.ts'
import type { Problem } from './problems.ts'

export interface Solution {
  readonly text: string
  readonly right: boolean
}

/** Half of the solutions end on a wrong number, as real homework does. */
export function solutionOf(problem: Problem, random: Random): Solution {
  const slip = random() < 0.5 ? 0 : pick(random, [-10, -2, -1, 1, 2, 10])
  return {
    text: `${problem.steps}\nThe answer is ${problem.answer + slip}.`,
    right: slip === 0,
  }
}

const gradedRight = [
  'Grade: 10/10. The steps are in the right order and the answer is correct.',
  'Grade: A. Each step follows from the one before, and the result is right.',
  '9/10. Correct. The working could name its units.',
  'Full marks. The calculation is complete and the answer checks out.',
  'Grade: A-. Right answer, and the working shows how it was found.',
]

const gradedWrong = [
  'Grade: 6/10. The steps are fine, but the last number does not follow from them.',
  'Grade: C+. The method is right; the final answer is not. Check the last line again.',
  '5/10. The answer is incorrect although the working leads to the right one.',
  'Grade: B-. There is a slip at the end: the result does not match the steps.',
  '6 points of 10. The approach works. The final value was copied wrongly.',
]

/** What a TA wrote under the work. */
export function gradedComments({ right }: Solution, random: Random): string {
  return pick(random, right ? gradedRight : gradedWrong)
}

/** A pasted text that is longer loses its end: prompts of a small model must leave room for the reply. */
const longestPaste = 700

export function clipped(text: string): string {
  const plain = text.trim()
  if (plain.length <= longestPaste) return plain
  const cut = plain.slice(0, longestPaste)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 1)).trimEnd()} …`
}
