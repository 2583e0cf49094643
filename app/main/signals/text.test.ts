import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentWords } from './content-words.ts'
import { maskForeign, normalise, similarity, typedSentences } from './text.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(
        '```',
        '"',
        '“',
        '”',
        '「',
        '\n',
        '> ',
        ' ',
        'too long',
        '不对',
        '.',
        '…',
        "'",
        '`',
        ':',
        '：',
      ),
      {
        maxLength: 60,
      },
    )
    .map((parts) => parts.join('')),
)

test('masking keeps the length of every text', () => {
  fc.assert(fc.property(anyText, (text) => maskForeign(text).length === text.length))
})

test('each sentence is a part of the text', () => {
  fc.assert(
    fc.property(anyText, (text) => typedSentences(text).every((part) => text.includes(part.text))),
  )
})

test('similarity is symmetric, within 0 and 1, and 1 for the same text', () => {
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      const value = similarity(a, b)
      expect(value).toBe(similarity(b, a))
      expect(value).toBeGreaterThanOrEqual(0)
      expect(value).toBeLessThanOrEqual(1)
      if (normalise(a) !== '') expect(similarity(a, a)).toBe(1)
    }),
  )
})

test.each([
  ['Explain osmosis.', 'Can you explain osmosis?', true],
  ['Explain osmosis.', 'Explain inflation.', false],
  ['不要用列表', '请不要用列表', true],
  ['不要用列表', '用英文回答', false],
])('%j and %j are alike: %j', (a, b, alike) => {
  expect(similarity(a, b) > 0.6).toBe(alike)
})

test('sentences end at marks of both languages, not inside numbers and abbreviations', () => {
  const texts = (text: string): string[] => typedSentences(text).map((sentence) => sentence.text)
  expect(texts('Too long. At most 3.5 lines, e.g. two. OK?')).toEqual([
    'Too long.',
    'At most 3.5 lines, e.g. two.',
    'OK?',
  ])
  expect(texts('不对。太长了！短一点')).toEqual(['不对。', '太长了！', '短一点'])
})

test('quotations, code and pasted logs are masked, apostrophes are not', () => {
  const plain = (text: string): string =>
    typedSentences(text)
      .map((part) => part.plain)
      .join(' ')
  expect(plain('He said "no, wrong" twice.')).not.toContain('wrong')
  expect(plain('他说“不对”。')).not.toContain('不对')
  expect(plain("Don't use lists, it's ugly")).toContain("don't use lists, it's ugly")
  expect(plain("the label 'too long' appears")).not.toContain('too long')
  expect(plain('```js\n// no, wrong\n```\nfine')).toBe('fine')
  expect(plain('> no, wrong\n\nfine')).toBe('fine')
  expect(plain('What is this?\nTraceback (most recent call last)\n  File "a.py", line 1')).toBe(
    'what is this?',
  )
})

test('content words leave out function words; Chinese counts by character', () => {
  expect(contentWords('Can you explain the osmosis?')).toEqual(['explain', 'osmosis'])
  expect(contentWords('请用40字解释渗透')).toEqual(['40', '字', '解', '释', '渗', '透'])
})

// A hang or a quadratic search would run into the runner's time-out.
test.each(['"', '“', '`', '```\n', '> ', "it's ", 'a ', '你', '\n\n', 'a:\n', '.', ' ', "'a "])(
  'a megabyte of %j is read',
  (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    expect(typedSentences(text).length).toBeGreaterThanOrEqual(0)
    expect(similarity(text, text)).toBeLessThanOrEqual(1)
  },
)
