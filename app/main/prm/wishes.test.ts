import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contradicts, sameWish } from './wishes.ts'

test.each([
  ['At most 40 words.', 'Use at most 40 words please.', true],
  ['At most 40 words.', '40字以内。', true],
  ['At most 40 words.', 'At most 30 words.', false],
  ['No lists.', "Don't use bullet points.", true],
  ['No lists.', '不要用列表。', true],
  ['No lists.', 'Use lists.', false],
  ['Keep the answer shorter.', 'Make it shorter.', true],
  ['Keep the answer shorter.', '回答短一些。', true],
  ['Keep the answer shorter.', 'Give a longer answer.', false],
  ['Keep the answer shorter.', 'At most 40 words.', false],
  ['Show the steps.', 'Please show the steps.', true],
  ['Show the steps.', 'Show the units.', false],
  ['Give the command first.', 'Always give me the command first.', true],
  ['Give the command first.', 'Give the answer first.', false],
  ['Use emojis.', 'No emojis.', false],
  ['Say "Well done".', 'Include the phrase well done.', true],
  ['Say "Well done".', 'Say "Good job".', false],
  ['Say "Well done".', 'Never say "Well done".', false],
  ['Use a kinder tone.', 'Use a formal tone.', false],
  ['语气友好一点。', '语气要友好一点。', true],
  ['用中文回答。', '用英文回答。', false],
  ['', '', false],
])('%j and %j are the same wish: %j', (a, b, same) => {
  expect(sameWish(a, b)).toBe(same)
})

test.each([
  ['Shorter.', 'Longer answers please.', true],
  ['短一点。', '详细一点。', true],
  ['At most 40 words.', 'At least 100 words.', true],
  ['At most 100 words.', 'At least 40 words.', false],
  ['At most 40 words.', 'At most 30 words.', true],
  ['At most 40 words.', 'Use at most 40 words.', false],
  ['At most 40 words.', 'Give a longer answer.', true],
  ['At most 40 words.', 'No lists.', false],
  ['Use lists.', 'No lists.', true],
  ['Use bullet points.', 'Use plain sentences.', true],
  ['Use bold for names.', 'No bold.', true],
  ['Use emojis.', 'No emojis.', true],
  ['Answer in English.', 'Answer in Chinese.', true],
  ['用中文回答。', '用英文回答。', true],
  ['Use a formal tone.', 'Use a less formal tone.', true],
  ['Give the answer first.', 'Give the steps first.', true],
  ['Say "Well done".', 'Never say "Well done".', true],
  ['Show the steps.', 'Show the units.', false],
  ['Show the steps.', 'No bold.', false],
])('%j and %j contradict: %j', (a, b, expected) => {
  expect(contradicts(a, b)).toBe(expected)
  expect(contradicts(b, a)).toBe(expected)
})

test('both relations are symmetric, and the same wish never contradicts itself', () => {
  const wish = fc
    .array(
      fc.constantFrom(
        'no ',
        'use ',
        'lists',
        'at most 40 words',
        'shorter',
        ' formal',
        '不要',
        '列表',
        'say "x"',
        '. ',
      ),
      {
        maxLength: 6,
      },
    )
    .map((parts) => parts.join(''))
  const text = fc.oneof(wish, fc.string({ unit: 'binary', maxLength: 80 }))
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(sameWish(a, b)).toBe(sameWish(b, a))
      expect(contradicts(a, b)).toBe(contradicts(b, a))
      expect(sameWish(a, b) && contradicts(a, b)).toBe(false)
    }),
  )
})
