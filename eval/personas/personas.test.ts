import { describe, expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import { brief } from './brief.ts'
import { findPersona, personas } from './index.ts'
import { complaintLines, countWords, planRequests, thanksLine } from './persona.ts'
import { shellFirst } from './shell-first.ts'
import { shellTasks } from './shell-tasks.ts'
import { student } from './student.ts'
import { teacher } from './teacher.ts'
import { generateProblems, loadProblems, parseProblems } from './problems.ts'
import { ta } from './ta.ts'

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

const solution =
  'First, Ann has 3 bags with 4 apples each, so she has 3 * 4 = 12 apples. Then she eats 2 of them, which leaves 12 - 2 = 10. Her brother gives her 5 more, so there are 15 apples in the end.'

const replies = [
  '',
  words(10),
  words(100),
  solution,
  `1. Count the bags: 3 * 4 = 12.\n2. Take away 2.\n3. **Answer**: $\\boxed{10}$`,
  'Well done! You found every step.',
  'Good job, but the last line is careless.',
  '```bash\nls -la\n```\nThis lists everything.',
  'Use this:\n\n```\nls\n```',
  'Type `ls`.',
]

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

  test('measures the same requests with every seed', () => {
    expect(planRequests(persona, 1, 50).measured).toEqual(planRequests(persona, 2, 50).measured)
    expect(planRequests(persona, 1, 50).sessions).not.toEqual(planRequests(persona, 2, 50).sessions)
  })

  test('says the wish in every complaint and in its hint, and not in thanks', () => {
    const unclear = complaintLines(persona, 'all').filter((line) => !persona.expresses(line))
    expect(unclear).toEqual([])
    expect(persona.expresses(persona.hint)).toBe(true)
    expect(persona.expresses('Thank you for the answer.')).toBe(false)
  })

  test('scores 1 exactly where the wish is met', () => {
    for (const reply of replies) {
      const { satisfied, score } = persona.check(reply)
      expect(score === 1).toBe(satisfied)
      expect(score).toBeGreaterThanOrEqual(0)
      expect(score).toBeLessThanOrEqual(1)
    }
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

test.each([
  [brief, 'Answer in 40 words or fewer.', true],
  [brief, 'Do not use more than 40 words.', true],
  [brief, 'Keep the answer shorter.', true],
  [brief, 'Write at least 40 words.', false],
  [brief, 'Write more than 40 words.', false],
  [brief, "I don't want to read an essay.", false],
  [ta, 'Never write fewer than 75 words.', true],
  [ta, 'Give a longer answer.', true],
  [ta, 'Write at most 75 words.', false],
  [ta, 'Keep the answer shorter.', false],
  [teacher, 'Start with "Well done".', true],
  [teacher, 'Use a kinder tone.', true],
  [teacher, 'She is eight years old.', false],
  [shellFirst, 'Put the command first.', true],
  [shellFirst, 'Explain the command.', false],
])('$0.name reads “$1” as its wish: $2', (persona, hint, says) => {
  expect(persona.expresses(hint)).toBe(says)
})

describe('the rule of Student', () => {
  test('is met by plain sentences that keep the steps', () => {
    expect(student.check(solution)).toEqual({ satisfied: true, score: 1, detail: 'plain, 3 steps' })
  })

  test.each([
    ['a bold word', solution.replace('12 apples', '**12** apples'), 'bold'],
    ['bullets', solution.replaceAll('. ', '.\n- '), 'a list'],
    ['numbered lines', `1. ${solution.replace('. ', '.\n2. ')}`, 'a list'],
    ['headings', `### Solution\n${solution}`, 'a heading'],
    ['numbered steps as headings', `Step 1: ${solution}`, 'a heading'],
    ['a boxed answer', `${solution} $\\boxed{15}$`, 'a boxed answer'],
    ['the answer alone', 'She has 15 apples.', '1 steps'],
    ['steps in no order', 'It is 3 * 4 = 12. It is 12 - 2 = 10.', 'no first and then'],
  ])('is broken by %s', (_, reply, detail) => {
    const check = student.check(reply)
    expect(check.satisfied).toBe(false)
    expect(check.detail).toContain(detail)
  })

  test('takes a minus sign or a product for no mark', () => {
    expect(student.check(solution.replace('which leaves', 'and that leaves')).satisfied).toBe(true)
    expect(
      student.check('2 * 3 * 4 is 24 at first. 24 - 4 is 20 then. So 20 is left.').satisfied,
    ).toBe(true)
  })
})

describe('the rule of Teacher', () => {
  test('is met by the warm phrase in a kind comment', () => {
    expect(teacher.check('Well done, Ann! Mind the units.').satisfied).toBe(true)
    expect(teacher.check('You did this well. Done.').satisfied).toBe(false)
  })

  test('is broken by an unkind word beside it, which it names', () => {
    expect(teacher.check('Well done, but this is sloppy.')).toEqual({
      satisfied: false,
      score: 0.5,
      detail: 'well done, “sloppy”',
    })
  })
})

describe('the rule of Shell-first', () => {
  test('is met only by a code block before any word', () => {
    expect(shellFirst.check('```bash\nls -la\n```\nThis lists all.').satisfied).toBe(true)
    expect(shellFirst.check('\n```\nls\n```').satisfied).toBe(true)
    expect(shellFirst.check('Sure:\n```\nls\n```').detail).toBe('a block, but not first')
    expect(shellFirst.check('Type `ls`.').detail).toBe('a command in the text')
    expect(shellFirst.check('```\n```').satisfied).toBe(false)
  })

  test('has its tasks filled in', () => {
    expect(shellTasks.filter((task) => task.includes('{}'))).toEqual([])
  })
})

describe('homework on its way', () => {
  const random = createRandom(1)

  test('is graded as the Student’s session left it and commented on as graded', () => {
    const [request = ''] = student.requests(1)
    const handedIn = student.passesOn?.({ request, reply: 'It is 12 in all.' }, null) ?? null
    expect(handedIn).toMatchObject({ solution: 'It is 12 in all.', comments: null })
    if (handedIn === null) return
    expect(request.endsWith(handedIn.question)).toBe(true)
    const grading = ta.takesUp?.(handedIn, random) ?? ''
    expect(grading).toContain('It is 12 in all.')
    const graded = ta.passesOn?.({ request: grading, reply: 'Grade: B.' }, handedIn) ?? null
    if (graded === null) throw new Error('the TA passed nothing on')
    const commenting = teacher.takesUp?.(graded, random)
    expect(commenting).toContain('It is 12 in all.')
    expect(commenting).toContain('Grade: B.')
  })

  test('that nobody has graded is not commented on', () => {
    const work = { question: 'How many?', solution: '12', comments: null }
    expect(teacher.takesUp?.(work, random)).toBeNull()
  })

  test('is cut where it would not leave room for a reply', () => {
    const work = { question: 'How many?', solution: words(1000), comments: null }
    expect(ta.takesUp?.(work, random)?.length).toBeLessThan(1000)
  })
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
  expect(() => findPersona('nobody')).toThrow(
    'no persona is called “nobody”; known are student, ta, teacher, brief, shell-first',
  )
})

test('more measured requests than are kept for that are refused', () => {
  expect(() => planRequests(brief, 1, 10_000)).toThrow('keeps 60 of its')
})

test('the same seed says the same thanks', () => {
  expect(thanksLine(createRandom(5))).toBe(thanksLine(createRandom(5)))
})
