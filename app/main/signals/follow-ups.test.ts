import { expect, test } from 'vitest'
import type { NextState } from '../../shared/contract/prm.ts'
import { ruleVotes } from './rules.ts'

const exchange = {
  request: 'How do I descale my kettle at home?',
  reply: 'Boil water with a spoonful of citric acid and rinse it twice.',
}

function voted(messages: NextState['messages'], signals: NextState['signals'] = []) {
  return ruleVotes({ ...exchange, messages, signals }).map(({ name, value }) => `${name} ${value}`)
}
const user = (text: string) => [{ role: 'user' as const, text }]
const tool = (text: string) => [{ role: 'tool' as const, text }]

test.each([
  ['Good to know.', 'reports-success 1'],
  ['the problem is gone', 'reports-success 1'],
  ['怪不得，水垢这么多', 'reports-success 1'],
  ['You lost me at the second step', 'doubts-reply -1'],
  ['还是两回事，到底差在哪', 'doubts-reply -1'],
  [
    'kettle. home. descaling it with what exactly, please, which things do I have to buy',
    'asks-again -1',
  ],
  ['and the coffee machine', 'builds-on-reply 1'],
  ['Where do people find citric powder?', 'builds-on-reply 1'],
  ['那咖啡机呢，也一样？', 'builds-on-reply 1'],
])('%j is %s', (text, vote) => {
  expect(voted(user(text))).toEqual([vote])
})

test.each([
  ['Ran 3 tests\n2 failed', 'output-fails -1'],
  ['sh: foo: not found', 'output-fails -1'],
  ['{"error": {"code": 400}}', 'output-fails -1'],
  ['5 passed, 1 failed', 'output-fails -1'],
])('the output %j is %s', (text, vote) => {
  expect(voted(tool(text))).toEqual([vote])
})

test('output alone says nothing, and going on after it that it was of use', () => {
  const output = tool('a.txt\nb.txt')
  const exit = [{ kind: 'exit-code' as const, code: 0 }]
  expect(voted(output, exit)).toEqual([])
  expect(voted(tool('Tests  6 passed (6)'), exit)).toEqual([])
  expect(voted([...output, ...user('open the first file')], exit)).toEqual([
    'goes-on-after-output 1',
  ])
})

test('quoted words of success or doubt are not the user’s', () => {
  expect(voted(user('> you lost me, this is confusing'))).toEqual([])
  expect(voted(user('```\nthe problem is gone\n```'))).toEqual([])
})

test('where a rule of plain words spoke, how it goes on is not asked', () => {
  expect(voted(user('No, that is wrong. And the lid?'))).toEqual(['corrects-reply -1'])
})
