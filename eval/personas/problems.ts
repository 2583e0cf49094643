import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { createRandom, pick } from '../random.ts'

/** A word problem with a worked solution in steps. */
export interface Problem {
  readonly question: string
  readonly steps: string
  readonly answer: number
}

const lineSchema = z.object({ question: z.string(), answer: z.string() })

/** Problems that fit a small context: the data set where it lies beside the checkout, else generated. */
export function loadProblems(): Problem[] {
  const places = ['../shared/data/gsm8k/test.jsonl', 'shared/data/gsm8k/test.jsonl']
  const path = places
    .map((place) => resolve(import.meta.dirname, '../..', place))
    .find((candidate) => existsSync(candidate))
  if (path === undefined) return generateProblems(240)
  return parseProblems(readFileSync(path, 'utf8')).filter(
    ({ question, steps }) => question.length + steps.length < 500,
  )
}

export function parseProblems(jsonLines: string): Problem[] {
  return jsonLines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const { question, answer } = lineSchema.parse(JSON.parse(line))
      const [steps = '', last = ''] = answer.split('####')
      return {
        question: question.replace(/\s+/g, ' ').trim(),
        steps: steps.replace(/<<[^>]*>>/g, '').trim(),
        answer: Number(last.replaceAll(',', '').trim()),
      }
    })
    .filter(({ answer }) => Number.isFinite(answer))
}

const names = ['Ana', 'Ben', 'Chen', 'Dora', 'Emil', 'Fay', 'Gita', 'Hugo', 'Ines', 'Jon']
const things = ['apples', 'stamps', 'marbles', 'books', 'pencils', 'tickets', 'shells', 'cards']

export function generateProblems(count: number): Problem[] {
  const random = createRandom(20_101)
  const problems = new Map<string, Problem>()
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  while (problems.size < count) {
    const [name, thing] = [pick(random, names), pick(random, things)]
    const [boxes, each] = [between(3, 12), between(4, 15)]
    const total = boxes * each
    const given = between(2, total - 1)
    const left = total - given
    const question = `${name} has ${boxes} boxes with ${each} ${thing} in each box. ${name} gives ${given} ${thing} to a friend. How many ${thing} does ${name} have left?`
    const steps = `First I find how many there are: ${boxes} x ${each} = ${total} ${thing}.\nThen I take away what was given: ${total} - ${given} = ${left} ${thing}.`
    problems.set(question, { question, steps, answer: left })
  }
  return [...problems.values()]
}
