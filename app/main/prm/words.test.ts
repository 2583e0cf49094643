import { expect, test } from 'vitest'
import { countWords, hasBold, hasList, parseNumber } from './words.ts'

test.each([
  ['', 0],
  ['one two', 2],
  ["Don't stop", 2],
  ['well-known facts', 2],
  ['It costs 3.14 euros', 4],
  ['渗透作用', 4],
  ['用Python写', 3],
  ['1. first\n2. second', 2],
  ['**bold** and _it_', 3],
  ['你好，世界！', 4],
])('%j has %i words', (text, words) => {
  expect(countWords(text)).toBe(words)
})

test.each([
  ['40', 40],
  ['forty', 40],
  ['twenty-five', 25],
  ['one hundred and twenty', 120],
  ['a hundred', 100],
  ['四十', 40],
  ['一百二十', 120],
  ['两百', 200],
  ['十五', 15],
  ['many', null],
  ['hundreds', null],
])('%j is the number %j', (text, value) => {
  expect(parseNumber(text)).toBe(value)
})

test('an unclosed fence hides the rest, a star in a sum is no list', () => {
  expect(hasList('text\n```\n- a')).toBe(false)
  expect(hasList('3 * 4 = 12')).toBe(false)
  expect(hasList('• one')).toBe(true)
  expect(hasBold('```\n**a**')).toBe(false)
  expect(hasBold('snake__case__name')).toBe(false)
  expect(hasBold('**两**')).toBe(true)
})
