import { createRandom, pick, shuffled, type Random } from '../random.ts'
import { countWords, type Persona } from './persona.ts'
import { loadProblems, type Problem } from './problems.ts'

/** Set once from 50 first replies of the default base model, before anything was trained. */
const minWords = 75

const phrasings = [
  'Please grade this homework.',
  'Grade this solution, please.',
  'Here is a homework that needs grading.',
  'Can you mark this piece of homework?',
  'I have to grade this one. What would you write under it?',
  'Please assess this student’s work.',
  'Mark this answer for me.',
  'What grade and comment would you give here?',
  'Look at this homework and grade it.',
  'Next homework to grade.',
]

function homework(random: Random, problem: Problem): string {
  // Half of the solutions end on a wrong number, as real homework does.
  const slip = random() < 0.5 ? 0 : pick(random, [-10, -2, -1, 1, 2, 10])
  const solution = `${problem.steps}\nThe answer is ${problem.answer + slip}.`
  return `${pick(random, phrasings)}\n\nProblem: ${problem.question}\n\nStudent's solution: ${solution}`
}

/** Has homework graded; wants long and specific comments. */
export const ta: Persona = {
  name: 'ta',
  wish: `grade a homework with at least ${minWords} words of comments`,
  hint: `Write at least ${minWords} words of specific comments.`,
  requests(seed) {
    const random = createRandom(seed * 7919 + 2)
    return shuffled(random, loadProblems()).map((problem) => homework(random, problem))
  },
  check(reply) {
    const words = countWords(reply)
    return { satisfied: words >= minWords, detail: `${words} words` }
  },
  complaints: {
    open: [
      `Too short. Please write at least ${minWords} words of specific comments.`,
      `No, that is too short. Write at least ${minWords} words.`,
      `That is not enough. Please use at least ${minWords} words.`,
      `Please comment in more detail: at least ${minWords} words.`,
      `Way too short! I want at least ${minWords} words of comments.`,
      `The student can't learn from this. Write no fewer than ${minWords} words.`,
      `Please write a longer comment of at least ${minWords} words.`,
      `More detail, please: at least ${minWords} words on the steps.`,
      `Not like this. Comment on each step in at least ${minWords} words.`,
      `I need longer comments. Use at least ${minWords} words.`,
      `This is too brief. Please give specific comments, ${minWords} words or more.`,
      `I said detailed. Please write at least ${minWords} words.`,
      `No. Please explain your grade in at least ${minWords} words.`,
      `Much too little. Write ${minWords} words at least.`,
      `Please be more specific and write at least ${minWords} words.`,
      `A line or two won't do. Use no less than ${minWords} words.`,
    ],
    heldOut: [
      `Hmm, is that all? Please say at least ${minWords} words about the solution.`,
      `That would look lazy on paper. Never write fewer than ${minWords} words.`,
      `Parents will read this, so make it ${minWords} words or longer.`,
      `I was hoping for real feedback. Give me a minimum of ${minWords} words.`,
      `Go through the steps one by one, in at least ${minWords} words.`,
      `My students deserve more than this. Write more than ${minWords} words.`,
      `Please fill the comment box: ${minWords} words minimum.`,
      'Please be thorough, at least seventy-five words.',
    ],
  },
}
