import { pick, type Random } from '../random.ts'
import { countWords, inOrder, type Persona } from './persona.ts'
import { loadProblems, type Problem } from './problems.ts'
import { clipped, solutionOf } from './work.ts'

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

function homework(random: Random, about: Pick<Problem, 'question'> & { solution: string }): string {
  return `${pick(random, phrasings)}\n\nProblem: ${about.question}\n\nStudent's solution: ${about.solution}`
}

/** Has homework graded; wants long and specific comments. */
export const ta: Persona = {
  name: 'ta',
  wish: `grade a homework with at least ${minWords} words of comments`,
  hint: `Write at least ${minWords} words of specific comments.`,
  requests: (seed) =>
    inOrder({ seed, number: 2 }, loadProblems(), (random, problem) =>
      homework(random, {
        question: problem.question,
        solution: solutionOf(problem, random).text,
      }),
    ),
  takesUp: ({ question, solution }, random) =>
    homework(random, { question, solution: clipped(solution) }),
  passesOn: ({ reply }, work) => (work === null ? null : { ...work, comments: reply }),
  check(reply) {
    const words = countWords(reply)
    const score = Math.min(1, words / minWords)
    return { satisfied: score === 1, score, detail: `${words} words` }
  },
  expresses(hint) {
    if (/\b(?:75|seventy-five) words\b/i.test(hint)) {
      return !/\b(?:at most|(?:no|not) (?:more|longer) than|max(?:imum)?|within)\b/i.test(hint)
    }
    return /\b(?:long(?:er)?|(?:more )?detail(?:ed|s)?|specific|thorough)\b/i.test(hint)
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
