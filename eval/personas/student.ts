import { pick, type Random } from '../random.ts'
import { countWords, inOrder, type Persona } from './persona.ts'
import { loadProblems, type Problem } from './problems.ts'

/** Fewer sentences with numbers than this have lost steps. */
const minSteps = 2

/** Chosen once: the default base model seldom says in which order it goes, though it often writes plainly. */
const inOrderWords = /\bfirst\b[\s\S]*\b(?:then|next|after that)\b/i

const phrasings = [
  'Can you help me with my homework?',
  'I have to hand this in tomorrow. Can you solve it?',
  'I am stuck on this one.',
  'Please solve this problem for me.',
  'How would you solve this?',
  'This is number three on my sheet. Can you do it?',
  'Please show me how to do this one.',
  'Could you work this out for me?',
  'Maths homework again. Here is the next problem.',
  'I do not get this one. How is it done?',
]

function homework(random: Random, { question }: Problem): string {
  return `${pick(random, phrasings)}\n\n${question}`
}

interface Finding {
  readonly name: string
  readonly pattern: RegExp
}

/** What gives away that homework was not written by hand. */
const marks: readonly Finding[] = [
  { name: 'bold', pattern: /\*\*[^\s*][^\n]*?\*\*|__[^\s_][^\n]*?__|<(?:b|strong)>/ },
  { name: 'a list', pattern: /^[ \t]*(?:[-*+•–][ \t]+|\(?\d{1,2}[.)][ \t]+|[a-z]\)[ \t]+)\S/im },
  { name: 'a heading', pattern: /^[ \t]{0,3}#{1,6}[ \t]|^[ \t]*step \d+ ?[:.]/im },
  { name: 'a boxed answer', pattern: /\\boxed|\\fbox|[┌╔│║]/ },
]

/** Sentences with a number in them. */
function stepsOf(reply: string): number {
  return reply
    .split(/(?<=[.!?])\s+|\n+/)
    .filter((sentence) => /\d/.test(sentence) && countWords(sentence) >= 3).length
}

/** Solves homework; wants it in plain sentences that keep the steps, so that it can be copied out. */
export const student: Persona = {
  name: 'student',
  wish: 'a worked solution in plain sentences, “First …, then …”: no bold, no lists, no headings, no boxed answer',
  hint: 'Write plain sentences that begin with "First" and go on with "Then". No lists, no bold.',
  requests: (seed) => inOrder({ seed, number: 3 }, loadProblems(), homework),
  passesOn: ({ request, reply }) => ({
    question: request.split('\n\n').at(-1) ?? request,
    solution: reply,
    comments: null,
  }),
  check(reply) {
    const found = marks.filter(({ pattern }) => pattern.test(reply)).map(({ name }) => name)
    const steps = stepsOf(reply)
    const isOrdered = inOrderWords.test(reply)
    const wrong = [
      ...found,
      ...(steps < minSteps ? [`${steps} steps`] : []),
      ...(isOrdered ? [] : ['no first and then']),
    ]
    return {
      satisfied: wrong.length === 0,
      score: Math.max(0, 1 - wrong.length / 3),
      detail: wrong.length === 0 ? `plain, ${steps} steps` : wrong.join(', '),
    }
  },
  expresses(hint) {
    return /\b(?:plain|sentences?|prose|paragraphs?|lists?|bullets?|bold|box(?:ed)?|headings?|steps?|numbered|first|then)\b/i.test(
      hint,
    )
  },
  complaints: {
    open: [
      'Please write plain sentences, "First ..., then ...", without lists or bold.',
      'No lists and no bold, please. Begin with "First" and go on with "Then".',
      'I have to copy this by hand. Use plain sentences with "First" and "then", no list.',
      'My teacher will see that I did not write this. Plain sentences, first this, then that, no bold.',
      'Not like that. Write what to do first and what then, in plain sentences.',
      'Don\'t use bold or lists. Just plain sentences that start with "First" and "Then".',
      'That looks like a machine wrote it. Write full sentences with "First" and "Then", no boxed answer.',
      'Please explain the steps in plain sentences: start with "First", then "Then".',
      'No boxed answer and no bullet points. Use "First" and "Then" in plain sentences.',
      'Can you write that as plain sentences, first one step, then the next, and no bold?',
      'I need it in normal sentences. No lists, no headings, just "First ..." and "Then ...".',
      'Please use plain sentences only, and say "First" and "Then" for the steps.',
      'Write it the way a pupil writes: "First I ..., then I ...", no lists.',
      'No, I want plain sentences with all the steps. Start with "First".',
      'Please do not use any list or bold. Full sentences: "First", "Then", step after step.',
      'I said plain sentences. Tell me what comes first and what comes then.',
    ],
    heldOut: [
      'Nobody in my class writes with stars and numbers. "First we ..., then we ...", please, in sentences.',
      'Could you say all of it in ordinary sentences and use the words "First" and "Then"?',
      'This has to look handwritten: plain sentences, first, then, nothing in bold.',
      'I can\'t hand in bullet points. Write full sentences, beginning with "First".',
      'Just tell me in plain sentences what you do first and what you do then, without a list.',
      'Please leave the formatting out: sentences with "First" and "Then", no bold, no boxes.',
      'Write it out as a paragraph that starts with "First" and goes on with "Then".',
      'Skip the lists and the bold words. I want whole sentences with "First" and "Then".',
    ],
  },
}
