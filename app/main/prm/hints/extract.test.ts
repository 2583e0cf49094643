import fc from 'fast-check'
import { expect, test } from 'vitest'
import { extractWishes } from './extract.ts'

function wishes(message: string, request = 'Explain osmosis.'): string[] {
  return extractWishes(message, request).map(({ text }) => text)
}

const english: readonly (readonly [string, readonly string[]])[] = [
  ['Too long. At most 40 words please.', ['At most 40 words.']],
  ['Too long, at most 40 words please', ['At most 40 words.']],
  ['Too long.', ['Keep the answer shorter.']],
  ["That's way too complicated", ['Use simpler words.']],
  ['No, I said at most 40 words!', ['At most 40 words.']],
  ['Do not use more than 40 words.', ['Do not use more than 40 words.']],
  ['Do not use lists.', ['Do not use lists.']],
  ['Comment on each step in at least 75 words.', ['In at least 75 words.']],
  ['Write no fewer than 75 words.', ['Write no fewer than 75 words.']],
  ['This is much longer than I need.', ['Keep the answer shorter.']],
  ['Please use plain sentences.', ['Use plain sentences.']],
  ["Don't use bold.", ["Don't use bold."]],
  ["Hi! Please don't use bullet points, thanks.", ["Don't use bullet points."]],
  ['I want shorter answers.', ['I want shorter answers.']],
  ['I want you to answer in German', ['Answer in German.']],
  ['Could you use simpler words?', ['Use simpler words.']],
  ['Can you make it shorter please?', ['Make it shorter.']],
  ['thanks, but please give the command first next time', ['Give the command first.']],
  ['That is good, but it is too formal for me.', ['Use a less formal tone.']],
  ['Good. However, I want plain sentences.', ['I want plain sentences.']],
  ['You forgot the units.', ['Include the units.']],
  ["You didn't show the steps", ['Show the steps.']],
  ['You keep using bullet points.', ['Stop using bullet points.']],
  ['Where are the steps?', ['Show the steps.']],
  ['too many bullet points', ['Use fewer bullet points.']],
  ['Say "Well done" at the start.', ['Say "Well done" at the start.']],
  ['No. The command should come first.', ['The command should come first.']],
  ['The summary must go at the end', ['The summary must go at the end.']],
  ['Open with the conclusion.', ['Open with the conclusion.']],
  ['Show me the code first, then explain.', ['Show me the code first, then explain.']],
  ['Write it the way a pupil would, no lists', ['Write it the way a pupil would, no lists.']],
  ['Show me the capital of France.', []],
  ['Always give me the shell command first.', ['Always give me the shell command first.']],
  [
    "Be kinder when you comment on my pupils' homework.",
    ["Be kinder when you comment on my pupils' homework."],
  ],
  ['Explain it in simpler words.', ['Explain it in simpler words.']],
  ['Plain sentences, please. No lists.', ['Plain sentences.', 'No lists.']],
  ['Explain osmosis in at most 40 words.', ['In at most 40 words.']],
  ['Explain osmosis without bullet points please', ['Without bullet points.']],
  ['From now on, answer in one paragraph.', ['Answer in one paragraph.']],
]

test.each(english)('%j says %j', (message, expected) => {
  expect(wishes(message)).toEqual(expected)
})

const chinese: readonly (readonly [string, readonly string[]])[] = [
  ['太长了，请控制在40字以内', ['控制在40字以内。']],
  ['太长了', ['回答短一些。']],
  ['太复杂了！', ['用更简单的语言。']],
  ['不对，用中文回答', ['用中文回答。']],
  ['请不要用列表。', ['不要用列表。']],
  ['谢谢，不过下次别用列表', ['别用列表。']],
  ['能不能短一点？', ['短一点。']],
  ['你忘了写单位', ['写单位。']],
  ['步骤呢？', ['写出步骤。']],
  ['我希望你语气友好一点', ['语气友好一点。']],
  ['请说“做得好”', ['说“做得好”。']],
  ['用40字以内解释渗透作用', ['用40字以内。']],
  ['回答短一点，不要用术语', ['回答短一点，不要用术语。']],
]

test.each(chinese)('%j says %j', (message, expected) => {
  expect(wishes(message, '解释一下渗透作用。')).toEqual(expected)
})

test.each([
  'Explain inflation.',
  'Explain inflation in at most 40 words.',
  'Now write a poem in 40 words about cats',
  'Give me a recipe for pancakes.',
  'What is the capital of France?',
  'Write a function that adds two numbers.',
  'Please explain how vaccines work in simple terms',
  'How do I make a numbered list in Word?',
  'Thanks!',
  'Do better.',
  'Can you fix it?',
  'Try again.',
  'ok',
  '什么是通货膨胀？',
  '帮我写一首关于猫的诗',
  '谢谢',
  '好好写',
  'He wrote "please use lists" in his mail.',
  '```\nplease use plain sentences\n```',
  '> please use plain sentences',
  '他说“请不要用列表”',
  `Look at this:\n\n${'Please use at most 40 words. '.repeat(12)}`,
])('%j is no wish about the reply', (message) => {
  expect(wishes(message)).toEqual([])
})

test('a wish keeps the sentence it was drawn from', () => {
  expect(extractWishes('Hm. Please use plain sentences next time!', 'x')).toEqual([
    { text: 'Use plain sentences.', quote: 'Please use plain sentences next time!' },
  ])
})

test('any text is read, and every quote was typed', () => {
  const pieces = fc
    .array(
      fc.constantFrom(
        'please ',
        'no lists',
        '.',
        '太长了',
        '，',
        'but ',
        '"',
        '```',
        '\n',
        'use ',
        '40 words',
        '你忘了',
      ),
      {
        maxLength: 30,
      },
    )
    .map((parts) => parts.join(''))
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), pieces)
  fc.assert(
    fc.property(text, text, (message, request) =>
      extractWishes(message, request).every(
        (wish) => message.includes(wish.quote) && wish.text !== '',
      ),
    ),
  )
})

test.each([
  'please ',
  'too long, ',
  '太长了，',
  'no, ',
  '谢谢，',
  'please use plain sentences. ',
  'a, but ',
])('a megabyte of %j is read', (piece) => {
  const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
  expect(extractWishes(text, text).length).toBeGreaterThanOrEqual(0)
})
