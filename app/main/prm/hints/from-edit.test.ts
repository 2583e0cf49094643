import { expect, test } from 'vitest'
import { wishesFromEdit } from './from-edit.ts'

test.each([
  ['Hi Tom, see you soon.', 'Dear Tom, see you soon.', ['Say “Dear” instead of “Hi”.']],
  ['See you soon.', 'See you soon. Kind regards', ['Include “Kind regards”.']],
  ['Sure! Here it is at once.', 'Here it is at once.', ['Do not say “Sure”.']],
  ['The sum is 41 euros.', 'The sum is 42 euros.', []],
  ['One **bold** word.', 'One bold word.', ['Do not use bold text.']],
  ['Same.', 'Same.', []],
  ['Something.', ' ', []],
])('from %j to %j: %j', (reply, edited, expected) => {
  expect(wishesFromEdit(reply, edited)).toEqual(expected)
})

test('two rewritten paragraphs are a demonstration, not a hint', () => {
  const before = 'one two three four five six seven eight nine ten eleven twelve'
  expect(wishesFromEdit(before, before.split(' ').reverse().join(' '))).toEqual([])
})
