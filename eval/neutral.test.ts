import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { personas } from './personas/index.ts'
import { terms } from './personas/terms.ts'
import { similarPairs } from './statistics.ts'

const folder = resolve(import.meta.dirname, '../resources/neutral')
const sizes = { anchor: 64, gate: 24, control: 50 } as const
const sets = z
  .object({ anchor: z.array(z.string()), gate: z.array(z.string()), control: z.array(z.string()) })
  .parse(read('prompts'))
const exchangeSchema = z.array(
  z.object({ prompt: z.string(), reply: z.string(), ended: z.boolean() }),
)

function read(name: string): unknown {
  return JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8'))
}

/** Above this, one prompt is the other in slightly different words. */
const tooSimilar = 0.7

test.each(Object.entries(sizes))('the %s set has %i distinct prompts', (name, size) => {
  const prompts = sets[name as keyof typeof sizes]
  expect(prompts).toHaveLength(size)
  expect(new Set(prompts).size).toBe(size)
})

test('no prompt of one neutral set is nearly one of another', () => {
  expect(similarPairs(sets.anchor, sets.gate, tooSimilar)).toEqual([])
  expect(similarPairs(sets.anchor, sets.control, tooSimilar)).toEqual([])
  expect(similarPairs(sets.gate, sets.control, tooSimilar)).toEqual([])
})

test.each(personas.map((persona) => [persona.name, persona] as const))(
  'no request of %s is nearly a neutral prompt',
  (_, persona) => {
    const requests = persona.requests(1)
    expect(similarPairs(Object.values(sets).flat(), requests, tooSimilar)).toEqual([])
  },
)

test.each(Object.keys(sizes))('the exchanges of the %s set answer its prompts in order', (name) => {
  expect(existsSync(`${folder}/${name}.json`)).toBe(true)
  const exchanges = exchangeSchema.parse(read(name))
  expect(exchanges.map(({ prompt }) => prompt)).toEqual(sets[name as keyof typeof sizes])
  expect(exchanges.filter(({ reply }) => reply.trim() === '')).toEqual([])
})

test('the prompts for testing notes hold no term of Brief and no problem of TA', () => {
  const kinds = z.array(z.string()).parse(read('../kinds'))
  expect(new Set(kinds).size).toBe(kinds.length)
  const words = terms.map((term) => term.replace(/^(?:an?|the) /, ''))
  const holdsTerm = (prompt: string) =>
    words.some((word) => new RegExp(`\\b${word}s?\\b`, 'i').test(prompt))
  const explanations = kinds.filter((prompt) => /^(?:explain|what (?:is|are)) /i.test(prompt))
  expect(explanations.filter(holdsTerm)).toEqual([])
  for (const persona of personas) {
    expect(similarPairs(kinds, persona.requests(1), 0.85)).toEqual([])
  }
})
