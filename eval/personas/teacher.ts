import { pick, type Random } from '../random.ts'
import { inOrder, type Persona, type Work } from './persona.ts'
import { loadProblems } from './problems.ts'
import { clipped, gradedComments, solutionOf } from './work.ts'

/** Chosen once: the default base model never says it by itself about homework. */
const warmPhrase = /\bwell done\b/i

const harsh =
  /\b(?:careless(?:ly)?|sloppy|lazy|stupid|terrible|awful|horrible|disappoint(?:ed|ing|ment)|poor(?:ly)? (?:work|done|effort|job)|bad (?:work|job)|shame|useless|fail(?:ed|ure)?)\b/i

const friendly =
  /\b(?:good job|great job|good work|great work|nice work|good effort|great effort|excellent|proud|bravo|keep it up|fantastic|wonderful|impress(?:ed|ive))\b/i

const phrasings = [
  'Please write a comment for my pupil under this graded homework.',
  'Comment on this graded homework for the child.',
  'Here is a homework that was graded. What can I write to the pupil?',
  'I give this back tomorrow. Please write a comment to the student.',
  'Write a comment to the pupil who did this.',
  'What would you say to the child about this homework?',
  'The TA has graded this one. Please comment on it for the pupil.',
  'Give the student feedback on this work.',
  'Please write two or three sentences to the student under this.',
  'Next one. Please comment on this work for the pupil.',
]

function graded(random: Random, { question, solution, comments }: Work): string {
  const grade = comments === null ? '' : `\n\nTA's comments: ${clipped(comments)}`
  return `${pick(random, phrasings)}\n\nProblem: ${clipped(question)}\n\nPupil's solution: ${clipped(solution)}${grade}`
}

/** Comments on work that was graded; wants to be kind, with a warm phrase. */
export const teacher: Persona = {
  name: 'teacher',
  wish: 'a kind comment on a graded homework that says “Well done”',
  hint: 'Be kind and say "Well done" to the pupil.',
  requests: (seed) =>
    inOrder({ seed, number: 4 }, loadProblems(), (random, problem) => {
      const solution = solutionOf(problem, random)
      const comments = gradedComments(solution, random)
      return graded(random, { question: problem.question, solution: solution.text, comments })
    }),
  takesUp: (work, random) => (work.comments === null ? null : graded(random, work)),
  check(reply) {
    const isWarm = warmPhrase.test(reply)
    const unkind = harsh.exec(reply)?.[0] ?? null
    const nearness = isWarm ? 1 : friendly.test(reply) ? 0.4 : 0
    return {
      satisfied: isWarm && unkind === null,
      score: unkind === null ? nearness : nearness / 2,
      detail: `${isWarm ? 'well done' : 'no warm phrase'}${unkind === null ? '' : `, “${unkind}”`}`,
    }
  },
  expresses(hint) {
    return /\bwell done\b|\b(?:kind|kinder|kindly|warm|warmer|warmly|friendl(?:y|ier)|encourag\w*|prais\w*|nice|nicer|gentle|gentler)\b/i.test(
      hint,
    )
  },
  complaints: {
    open: [
      'Please be kinder and say "Well done" to the child.',
      'That is too cold. Start with "Well done".',
      'Too harsh. Please say "Well done" first.',
      'Always say "Well done" to my pupils, please.',
      'Please include "Well done" in the comment.',
      'No, be warm. Write "Well done" and then the rest.',
      'You forgot the praise. Say "Well done", please.',
      'Please be nicer: begin with "Well done".',
      'This would make the child sad. Say "Well done" and be kind.',
      'I want a kind comment that says "Well done".',
      'Not like this. Praise the pupil: say "Well done".',
      'Please use the words "Well done" and a warm tone.',
      'My pupils need encouragement. Add "Well done".',
      'Can you make it warmer and say "Well done"?',
      'Write to the child, kindly, and say "Well done".',
      'Where is the praise? Please start with "Well done".',
    ],
    heldOut: [
      'That sounds like a report. Be kind and tell the child "Well done".',
      'She is eight years old. A kind word first, please: "Well done".',
      'I never give homework back without "Well done" on it.',
      'Could you put a friendly "Well done" at the beginning?',
      'He worked hard on this, so say "Well done" before anything else.',
      'Hm, nobody likes to read that. Be friendlier and write "Well done".',
      'Something warm is missing. I would write "Well done" there.',
      'Praise first, please. "Well done" is what I want to read there.',
    ],
  },
}
