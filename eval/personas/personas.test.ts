import { describe, expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import { brief } from './brief.ts'
import { findPersona, personas } from './index.ts'
import { complaintLines, countWords, planRequests, thanksLine } from './persona.ts'
import { generateProblems, loadProblems, parseProblems } from './problems.ts'
import { ta } from './ta.ts'

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

describe.each(personas.map((persona) => [persona.name, persona] as const))('%s', (_, persona) => {
  test('has at least 200 distinct requests, the same ones for the same seed', () => {
    const requests = persona.requests(3)
    expect(new Set(requests).size).toBe(requests.length)
    expect(requests.length).toBeGreaterThanOrEqual(200)
    expect(persona.requests(3)).toEqual(requests)
    expect(persona.requests(4)).not.toEqual(requests)
  })

  test('never asks in a session what is measured before and after', () => {
    const { sessions, measured } = planRequests(persona, 1, 50)
    expect(measured).toHaveLength(50)
    expect(sessions.length).toBeGreaterThanOrEqual(72)
    expect(sessions.filter((request) => measured.includes(request))).toEqual([])
  })

  test('has at least 20 distinct complaints, a third of them held out', () => {
    const { open, heldOut } = persona.complaints
    const all = complaintLines(persona, 'all')
    expect(new Set(all).size).toBe(open.length + heldOut.length)
    expect(all.length).toBeGreaterThanOrEqual(20)
    expect(heldOut.length / all.length).toBeCloseTo(1 / 3, 2)
    expect(complaintLines(persona, 'held-out')).toEqual(heldOut)
    expect(complaintLines(persona, 'open')).toEqual(open)
  })

  test('names the wish in every complaint, as a number or in words', () => {
    for (const line of complaintLines(persona, 'all')) expect(line).toMatch(/\d\d|forty|seventy/)
  })
})

describe('the rule of Brief', () => {
  test('is met by 5 to 40 words', () => {
    expect(brief.check(words(40)).satisfied).toBe(true)
    expect(brief.check(words(41)).satisfied).toBe(false)
    expect(brief.check(words(5)).satisfied).toBe(true)
    expect(brief.check(words(4)).satisfied).toBe(false)
    expect(brief.check('').satisfied).toBe(false)
  })

  test('says what it counted', () => {
    expect(brief.check(words(87)).detail).toBe('87 words')
  })
})

test('the rule of TA is met from 75 words on', () => {
  expect(ta.check(words(75)).satisfied).toBe(true)
  expect(ta.check(words(74)).satisfied).toBe(false)
})

describe('counting words', () => {
  test.each([
    ['The child’s well-known 3.5 apples', 5],
    ['**Bold** and `code`, - a list', 5],
    ['水在一百度沸腾', 7],
    ['', 0],
    ['… – !', 0],
  ])('%j has %i', (text, count) => {
    expect(countWords(text)).toBe(count)
  })
})

describe('homework problems', () => {
  test('lose the calculator marks of the data set and keep the answer', () => {
    const line = JSON.stringify({
      question: 'How many  are 2 and 2?',
      answer: 'It is 2+2=<<2+2=4>>4.\n#### 1,004',
    })
    expect(parseProblems(`${line}\n\n`)).toEqual([
      { question: 'How many are 2 and 2?', steps: 'It is 2+2=4.', answer: 1004 },
    ])
  })

  test('that are generated are distinct and right', () => {
    const problems = generateProblems(240)
    expect(new Set(problems.map(({ question }) => question)).size).toBe(240)
    for (const { question, answer } of problems) {
      const [boxes, each, given] = (question.match(/\d+/g) ?? []).map(Number)
      expect((boxes ?? 0) * (each ?? 0) - (given ?? 0)).toBe(answer)
    }
  })

  test('fit a small context', () => {
    for (const { question, steps } of loadProblems()) {
      expect(question.length + steps.length).toBeLessThan(500)
    }
  })
})

test('an unknown persona is refused with the known ones', () => {
  expect(() => findPersona('nobody')).toThrow('no persona is called “nobody”; known are brief, ta')
})

test('a plan that would leave no request for sessions is refused', () => {
  expect(() => planRequests(brief, 1, 10_000)).toThrow('leaves none for sessions')
})

test('the same seed says the same thanks', () => {
  expect(thanksLine(createRandom(5))).toBe(thanksLine(createRandom(5)))
})
