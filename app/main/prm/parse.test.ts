import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBoxed, parseHint } from './parse.ts'

test.each([
  ['\\boxed{1}', 1],
  ['\\boxed{+1}', 1],
  ['\\boxed{-1}', -1],
  ['\\boxed{0}', 0],
  ['\\boxed{-0}', 0],
  ['first \\boxed{1}, on reflection \\boxed{-1}', -1],
  ['<think>\\boxed{1}</think> \\boxed{0}', 0],
  ['', null],
  ['The reply was good.', null],
  ['1', null],
  ['\\boxed{2}', null],
  ['\\boxed{+2}', null],
  ['\\boxed{11}', null],
  ['\\boxed{1.0}', null],
  ['\\boxed{ 1 }', null],
  ['\\boxed{good}', null],
  ['\\boxed{１}', null],
  ['\\boxed{1} or rather \\boxed{2}', null],
  ['\\boxed{1} or rather \\boxed{', null],
  ['boxed{1}', null],
  ['\\boxed{1', null],
  ['<think>maybe \\boxed{1}', null],
  ['score: +1', null],
])('%j is the vote %j', (text, value) => {
  expect(parseBoxed(text)).toBe(value)
})

test('any text is a vote of +1, 0, −1 or none', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect([1, 0, -1, null]).toContain(parseBoxed(text))
      expect([1, 0, -1]).toContain(parseBoxed(`${text}</think>\\boxed{-1}`))
      expect(parseHint(text)).toBeNull()
    }),
  )
})

const mark = (hint: string): string => `[HINT_START]${hint}[HINT_END]`

test.each([
  [`${mark('Use plain sentences.')} \\boxed{1}`, 'Use plain sentences.'],
  [`${mark(' Use plain\n sentences. No lists. ')} \\boxed{1}`, 'Use plain sentences. No lists.'],
  [
    `${mark('an old idea of mine')} ${mark('Use plain sentences.')} \\boxed{1}`,
    'Use plain sentences.',
  ],
  [`${mark('Use plain sentences.')} \\boxed{-1}`, null],
  [mark('Use plain sentences.'), null],
  [`${mark('Too short')} \\boxed{1}`, null],
  [`${mark('One of it. Two of it. Three of it. Four of it.')} \\boxed{1}`, null],
  ['[HINT_START]Use plain sentences. \\boxed{1}', null],
  ['[HINT_END]Use plain sentences.[HINT_START] \\boxed{1}', null],
  ['\\boxed{1}', null],
  [`${mark('请用完整的句子回答，不要用列表。')}\\boxed{1}`, '请用完整的句子回答，不要用列表。'],
])('%j holds the hint %j', (text, hint) => {
  expect(parseHint(text)).toBe(hint)
})
