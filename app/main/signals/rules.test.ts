import { expect, test } from 'vitest'
import type { NextState } from '../../shared/contract/prm.ts'
import type { RewardValue } from '../../shared/domain/turn.ts'
import { ruleVotes } from './rules.ts'

const english = {
  request: 'Explain osmosis.',
  reply: 'Osmosis is the movement of water through a membrane toward the side with more salt.',
}
const chinese = {
  request: '解释一下渗透作用。',
  reply: '渗透作用是水分子通过半透膜向浓度高的一侧移动。',
}

function after(text: string, exchange = english): NextState {
  return { ...exchange, messages: [{ role: 'user', text }], signals: [] }
}

/** The one value that all rules agree on, 'silent' when none spoke. */
function ruled(state: NextState): RewardValue | 'silent' | 'split' {
  const values = new Set(ruleVotes(state).map(({ value }) => value))
  if (values.size === 0) return 'silent'
  const [value] = values
  return values.size > 1 || value == null ? 'split' : value
}

function names(state: NextState): string[] {
  return ruleVotes(state).map(({ name }) => name)
}

const englishReplies: readonly (readonly [string, RewardValue | 'silent'])[] = [
  ['No, that is not what I meant.', -1],
  ["That's wrong.", -1],
  ['that is not right, water goes the other way', -1],
  ['Nope.', -1],
  ['Wrong again', -1],
  ['You forgot the example.', -1],
  ["You didn't answer my question.", -1],
  ['I said one sentence.', -1],
  ['i asked for a short answer', -1],
  ['Still wrong.', -1],
  ["It doesn't work.", -1],
  ['the command still fails? It does not run', -1],
  ['Try again.', -1],
  ['Hmm, not quite.', -1],
  ["Sorry, but that's not what I asked.", -1],
  ['Too long.', -1],
  ['too long. at most 40 words please.', -1],
  ["That's way too complicated for me", -1],
  ['Your answer is too technical.', -1],
  ['Shorter please', -1],
  ['Can you make it shorter?', -1],
  ['Could you please rewrite that in plain English?', -1],
  ["Don't use bullet points.", -1],
  ['Please no lists.', -1],
  ['Use plain sentences.', -1],
  ['Simpler.', -1],
  ['In 40 words or less.', -1],
  ['40 words max', -1],
  ['A bit less formal, please', -1],
  ['More detail please', -1],
  ['Be kinder, please', -1],
  ['Make it sound friendlier.', -1],
  ['Thanks, but it is too long.', -1],
  ['Great, but please drop the bullet points', -1],
  ['Good, however I need the command first', -1],
  ['Nice try, but no.', -1],
  ['Cut it down to 40 words at most.', -1],
  ['Write no fewer than 75 words.', -1],
  ['Stay within 40 words.', -1],
  ['Do not go over 40 words', -1],
  ['Do not use lists', -1],
  ['This is longer than I need.', -1],
  ['Explain osmosis in at most 40 words.', -1],
  ['Explain inflation in at most 40 words.', 0],
  ['Write a poem about cats in at most 40 words.', 0],
  ['Is it possible in under 40 words?', 'silent'],
  ['Thanks!', 1],
  ['thank you so much', 1],
  ['Perfect.', 1],
  ['Great, thanks', 1],
  ['That works now.', 1],
  ['Exactly what I needed', 1],
  ['Much better.', 1],
  ['Thanks, that helped a lot. How do cells do it?', 1],
  ['Awesome! What about diffusion?', 1],
  ['Got it.', 1],
  ['Very helpful', 1],
  ['Makes sense, thank you', 1],
  ['Explain inflation.', 0],
  ['By the way, how old is the universe?', 0],
  ['New topic: cats', 0],
  ['What is the capital of France?', 0],
  ['ok', 'silent'],
  ['hmm', 'silent'],
  ['No problem', 'silent'],
  ['no worries', 'silent'],
  ['And in plants?', 1],
  ['Can you explain the second step?', 'silent'],
  ['What happens to the salt?', 1],
  ['Are you sure?', 'silent'],
  ['Good morning', 'silent'],
  ['My essay is too long, how do I cut it?', 'silent'],
  ['He told me "no, that is wrong" and left.', 'silent'],
  ['She wrote: `too long`', 'silent'],
  ["> That's wrong.\nWhat does this mean?", 'silent'],
  ['```\nno, wrong, try again\n```', 'silent'],
  ['Never mind.', 'silent'],
  ["Don't worry about it", 'silent'],
  ['I told my teacher about it.', 'silent'],
  ['Why is my answer wrong?', 'silent'],
]

test.each(englishReplies)('English reply %j is ruled %j', (text, expected) => {
  expect(ruled(after(text))).toBe(expected)
})

const chineseReplies: readonly (readonly [string, RewardValue | 'silent'])[] = [
  ['不对', -1],
  ['不对，方向反了', -1],
  ['错了', -1],
  ['这是错的。', -1],
  ['你理解错了', -1],
  ['你忘了举例子', -1],
  ['你没有回答我的问题', -1],
  ['我说的是一句话', -1],
  ['我要的是简单的解释', -1],
  ['还是不对', -1],
  ['还是太长', -1],
  ['重新写', -1],
  ['再试一次', -1],
  ['不是这个意思', -1],
  ['答非所问', -1],
  ['太长了', -1],
  ['太长了，请控制在40字以内', -1],
  ['你的回答太复杂了', -1],
  ['有点啰嗦', -1],
  ['短一点', -1],
  ['能不能简单一点？', -1],
  ['请不要用列表', -1],
  ['别用项目符号', -1],
  ['用通俗的话说', -1],
  ['40字以内', -1],
  ['不超过五十字', -1],
  ['请用中文回答', -1],
  ['详细一些', -1],
  ['换一种说法', -1],
  ['语气太生硬了', -1],
  ['谢谢，但是太长了', -1],
  ['很好，不过请不要用列表', -1],
  ['不错，只是有点长', -1],
  ['代码运行不了', -1],
  ['步骤呢？', -1],
  ['谢谢', 1],
  ['谢谢你！', 1],
  ['太好了', 1],
  ['太棒了！', 1],
  ['很好', 1],
  ['明白了', 1],
  ['懂了，谢谢', 1],
  ['对，就是这样', 1],
  ['这正是我想要的', 1],
  ['可以了', 1],
  ['解决了，多谢', 1],
  ['好多了', 1],
  ['讲得真好！', 1],
  ['什么是通货膨胀？', 0],
  ['换个话题吧', 0],
  ['顺便问一下，明天天气怎么样？', 0],
  ['嗯', 'silent'],
  ['哦', 'silent'],
  ['不用了', 'silent'],
  ['没关系', 'silent'],
  ['对不对？', 'silent'],
  ['植物里也是这样吗？', 'silent'],
  ['他说“不对，重写”然后走了', 'silent'],
  ['> 太长了\n这句话是什么意思？', 'silent'],
  ['```\n不对\n```', 'silent'],
]

test.each(chineseReplies)('Chinese reply %j is ruled %j', (text, expected) => {
  expect(ruled(after(text, chinese))).toBe(expected)
})

const repeats: readonly (readonly [string, string, boolean])[] = [
  ['Explain osmosis.', 'Explain osmosis.', true],
  ['Explain osmosis.', 'explain osmosis', true],
  ['Explain osmosis.', 'Can you explain osmosis?', true],
  ['How do I undo the last git commit?', 'How can I undo the last git commit??', true],
  ['Write a poem about autumn leaves', 'Please write a poem about autumn leaves.', true],
  ['解释一下渗透作用。', '请解释一下渗透作用', true],
  ['怎么撤销上一次提交？', '怎么撤销上一次的提交', true],
  ['Explain osmosis.', 'Explain inflation.', false],
  ['What is 12 + 5?', 'What is 12 + 7?', false],
  ['How does photosynthesis work in plants?', 'How does respiration work in plants?', false],
  ['Translate this sentence into French.', 'Translate this sentence into German.', false],
  ['计算 25 乘以 16。', '计算 25 乘以 17。', false],
  ['Explain osmosis.', '', false],
]

test.each(repeats)('after %j the message %j repeats it: %j', (request, text, expected) => {
  const state = after(text, { request, reply: 'Something.' })
  expect(names(state).includes('repeats-request')).toBe(expected)
})

test('a failed tool is negative, and success says nothing', () => {
  const tool = (text: string): NextState => ({
    ...english,
    messages: [{ role: 'tool', text }],
    signals: [],
  })
  expect(names(tool('[TOOL_ERROR] no such file'))).toEqual(['tool-fails'])
  expect(names(tool('3 files changed'))).toEqual([])
})

test('a user who types the tool mark does not make the tool fail', () => {
  expect(names(after('what does [TOOL_ERROR] mean'))).not.toContain('tool-fails')
})

test('an exit code other than 0 is negative, 0 says nothing', () => {
  const exit = (code: number): NextState => ({
    ...english,
    messages: [],
    signals: [{ kind: 'exit-code', code }],
  })
  expect(names(exit(127))).toEqual(['exits-with-error'])
  expect(names(exit(0))).toEqual([])
})

test('a regenerate weighs one half', () => {
  const [vote] = ruleVotes({ ...english, messages: [], signals: [{ kind: 'regenerate' }] })
  expect(vote).toMatchObject({ name: 'regenerates', value: -1, weight: 0.5 })
})

test('learned weights multiply, absent ones are 1', () => {
  const [vote] = ruleVotes(after('Too long.'), { 'asks-for-change': 0.25 })
  expect(vote?.weight).toBe(0.25)
  expect(ruleVotes(after('Too long.'), { other: 9 })[0]?.weight).toBe(1)
})

test('all user messages after the reply are read, not only the last', () => {
  const state: NextState = {
    ...english,
    messages: [
      { role: 'user', text: 'Too long.' },
      { role: 'user', text: 'hello?' },
    ],
    signals: [],
  }
  expect(names(state)).toContain('asks-for-change')
})

test('thanks at the end of a new request are politeness', () => {
  expect(names(after('Could you look at the cell wall as well? Thanks'))).not.toContain(
    'approves-reply',
  )
  expect(names(after('Thanks in advance!'))).not.toContain('approves-reply')
})

test('thanks with a wish for the next time are no approval', () => {
  expect(names(after('Thanks. From now on answer in one line.'))).not.toContain('approves-reply')
})

test('pasted text below an announcement cannot speak', () => {
  const pasted = 'No, that is wrong. Too long. Try again. '.repeat(12)
  expect(ruled(after(`What does the author of this text think?\n\nText:\n${pasted}`))).toBe(
    'silent',
  )
})

test.each([
  ['Shall I go on?', 'No.', 'silent'],
  ['Do you mean the biological term?', 'Correct', 'silent'],
  ['要继续吗？', '不', 'silent'],
  ['您是说生物学里的吗？', '对', 'silent'],
  ['Shall I go on?', 'No, that is wrong.', -1],
  ['Shall I go on?', 'no, too long', -1],
  ['I can go on.', 'No.', -1],
] as const)('to the reply %j the answer %j is ruled %j', (reply, text, expected) => {
  expect(ruled(after(text, { ...english, reply }))).toBe(expected)
})
