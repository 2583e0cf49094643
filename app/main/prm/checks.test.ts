import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Check } from '../../shared/domain/check.ts'
import { checkSchema } from '../../shared/domain/check.ts'
import { describeCheck, parseCheck, satisfies } from './checks.ts'

const reply = 'word '.repeat(100)
const max = (words: number): Check => ({ kind: 'max-words', words })
const min = (words: number): Check => ({ kind: 'min-words', words })
const noLists: Check = { kind: 'no-lists' }
const noBold: Check = { kind: 'no-bold' }
const contains = (phrase: string): Check => ({ kind: 'contains', phrase })
const lacks = (phrase: string): Check => ({ kind: 'lacks', phrase })

const texts: readonly (readonly [string, Check | null])[] = [
  ['at most 40 words', max(40)],
  ['At most forty words please.', max(40)],
  ['Use at most 40 words.', max(40)],
  ['In at most 40 words.', max(40)],
  ['under 50 words', max(49)],
  ['fewer than 50 words', max(49)],
  ['in 40 words or fewer', max(40)],
  ['40 words or less, please', max(40)],
  ['no more than twenty-five words', max(25)],
  ['no longer than 20 words', max(20)],
  ['max 30 words', max(30)],
  ['maximum of 30 words', max(30)],
  ['30 words max', max(30)],
  ['Keep it to 30 words', max(30)],
  ['Keep it under 30 words', max(29)],
  ['limit yourself to 60 words', max(60)],
  ['one hundred and twenty words max', max(120)],
  ['a hundred words or less', max(100)],
  ['between 20 and 30 words', max(30)],
  ['at least 100 words', min(100)],
  ['no fewer than 80 words', min(80)],
  ['more than 100 words', min(101)],
  ['100 words or more', min(100)],
  ['40字以内', max(40)],
  ['请控制在四十字以内', max(40)],
  ['太长了，请控制在40字以内', max(40)],
  ['不超过50字', max(50)],
  ['不要超过五十个字', max(50)],
  ['最多三十字', max(30)],
  ['少于100字', max(99)],
  ['至少100字', min(100)],
  ['不少于一百字', min(100)],
  ['两百字以上', min(200)],
  ['超过80字', min(81)],
  ['Do not use more than 40 words.', max(40)],
  ['Never write more than forty words', max(40)],
  ['Do not go over 40 words, please.', max(40)],
  ['answer without exceeding 40 words', max(40)],
  ['Do not use fewer than 75 words.', min(75)],
  ['Stay within 40 words.', max(40)],
  ['40 words, not more, please', max(40)],
  ['75 words at least', min(75)],
  ['别写超过四十个字', max(40)],
  ['不能少于一百字', min(100)],
  ['This is much longer than I need.', null],
  ['It is shorter than I need.', null],
  ['shorter', max(60)],
  ['Keep the answer shorter.', max(60)],
  ['Too long.', max(60)],
  ['be more concise', max(60)],
  ['短一点', max(60)],
  ['太长了', max(60)],
  ['longer', min(150)],
  ['too short', min(150)],
  ['详细一点', min(150)],
  ['shorter sentences', null],
  ['use longer words', null],
  ['no lists', noLists],
  ['No bullet points please', noLists],
  ["Don't use bullet points.", noLists],
  ['Do not use lists.', noLists],
  ['without bullets', noLists],
  ['Stop using numbered lists', noLists],
  ['Use plain sentences.', noLists],
  ['write in full sentences', noLists],
  ['不要用列表', noLists],
  ['别用项目符号', noLists],
  ['不要分点', noLists],
  ['用完整的句子回答', noLists],
  ['use bullet points', null],
  ['give me a list', null],
  ['用列表', null],
  ['no bold', noBold],
  ["Don't use bold text", noBold],
  ['avoid bold', noBold],
  ['不要加粗', noBold],
  ['别用粗体', noBold],
  ['use bold for names', null],
  ["say 'Well done'", contains('Well done')],
  ['Start with "Well done".', contains('Well done')],
  ['Always include the words “good effort”', contains('good effort')],
  ['Include the phrase well done.', contains('well done')],
  ['End with "Keep going!"', contains('Keep going!')],
  ['说“做得好”', contains('做得好')],
  ['开头加上一句“你好”', contains('你好')],
  ['don\'t say "As an AI"', lacks('As an AI')],
  ["Never say 'I'm sorry'", lacks("I'm sorry")],
  ['Avoid the word basically.', lacks('basically')],
  ['Do not start with "Sure"', lacks('Sure')],
  ['不要说“抱歉”', lacks('抱歉')],
  ['别用“首先”这个词', lacks('首先')],
  ['Explain osmosis.', null],
  ['Thanks!', null],
  ['at most 0 words', null],
  ['', null],
  ['用中文回答', null],
  ['in three paragraphs', null],
]

test.each(texts)('%j is read as %j', (text, expected) => {
  expect(parseCheck(text, { reply })).toEqual(expected)
})

test('relative wishes are not read without the rejected reply', () => {
  expect(parseCheck('shorter')).toBeNull()
  expect(parseCheck('longer', { reply: '' })).toBeNull()
})

test('shorter than one word is still one word', () => {
  expect(parseCheck('shorter', { reply: 'Yes.' })).toEqual(max(1))
})

const replies: readonly (readonly [Check, string, boolean])[] = [
  [max(3), 'one two three', true],
  [max(3), 'one two three four', false],
  [max(3), '', false],
  [max(4), '渗透作用', true],
  [max(3), '渗透作用', false],
  [min(2), 'one', false],
  [min(2), 'one two', true],
  [noLists, 'Plain text - with a dash.', true],
  [noLists, 'Points:\n- one', false],
  [noLists, 'Points:\n1. one\n2. two', false],
  [noLists, '一、水分子', false],
  [noLists, '```\n- in code\n```', true],
  [noLists, 'a\n\n---\n\nb', true],
  [noLists, 'It cost 3.5 dollars.', true],
  [noBold, 'This is **bold**.', false],
  [noBold, 'This is __bold__.', false],
  [noBold, 'This is *italic*.', true],
  [noBold, 'Run `a ** b ** c`.', true],
  [noBold, '2 ** 3 ** 4', true],
  [contains('Well done'), 'WELL  **done**, Mia', true],
  [contains('Well done'), 'Done well', false],
  [lacks("I'm sorry"), 'I’m sorry, no.', false],
  [lacks('抱歉'), '好的。', true],
]

test.each(replies)('%j is met by %j: %j', (check, text, expected) => {
  expect(satisfies(check, text)).toBe(expected)
})

test('a check in words is read back as itself', () => {
  for (const check of [
    max(40),
    min(7),
    noLists,
    noBold,
    contains('Well done'),
    lacks('maybe so'),
  ]) {
    expect(parseCheck(describeCheck(check).replace('does not contain', 'do not say'))).toEqual(
      check,
    )
  }
})

test('any text gives a valid check or none, and any check can be asked of any reply', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc
      .array(
        fc.constantFrom(
          'at most ',
          'no ',
          '40',
          '四十',
          ' words',
          '字',
          '以内',
          'lists',
          ' "x" ',
          'say ',
          '不要',
          '"',
          '“',
        ),
        {
          maxLength: 12,
        },
      )
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(text, text, (wish, answer) => {
      const check = parseCheck(wish, { reply: answer })
      if (check === null) return
      expect(checkSchema.parse(check)).toEqual(check)
      expect(typeof satisfies(check, answer)).toBe('boolean')
      expect(describeCheck(check)).not.toBe('')
    }),
  )
})

test.each(['a', '* ', '**a', '\n- ', '```\n', '1. ', "don't ", '__a ', '"', '不要', 'at most '])(
  'a megabyte of %j is read and checked',
  (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    parseCheck(text, { reply: text })
    for (const check of [max(5), noLists, noBold, contains('zz')]) {
      expect(typeof satisfies(check, text)).toBe('boolean')
    }
  },
)
