import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestKind, sameKindOfRequest } from './request-kind.ts'

test.each([
  ['Explain osmosis.', 'explain'],
  ['Can you please explain inflation?', 'explain'],
  ['Hi! Could you explain what a black hole is?', 'explain'],
  ['What is entropy?', 'explain'],
  ["What's a mutex?", 'explain'],
  ['What does HTTP stand for?', 'explain'],
  ['Tell me about the moon', 'explain'],
  ['Describe a volcano', 'explain'],
  ['How does a fridge work?', 'explain'],
  ['Why is the sky blue?', 'why'],
  ['Explain why the sky is blue', 'why'],
  ['How do I bake bread?', 'howto'],
  ['What is the best way to learn French?', 'howto'],
  ['How many legs does a spider have?', 'solve'],
  ['Solve 3x + 4 = 19.', 'solve'],
  ['What is 12 + 5?', 'solve'],
  ['Natalia sold 48 clips in April and half as many in May. How many clips did she sell?', 'solve'],
  ['Please solve this problem: a train leaves at noon.', 'solve'],
  ['Grade this homework: 3 + 4 = 8', 'grade'],
  ["Comment on my pupil's essay", 'comment'],
  ['Give me a shell command to count lines', 'shell'],
  ['How do I list open ports in Linux?', 'shell'],
  ['Translate this into French', 'translate'],
  ['Summarize the article', 'summarise'],
  ['Give me a short summary of the book', 'summarise'],
  ['Rewrite this paragraph', 'rewrite'],
  ['Fix my code', 'fix'],
  ['Compare cats and dogs', 'compare'],
  ['What is the difference between TCP and UDP?', 'compare'],
  ['Suggest a name for a cat', 'suggest'],
  ['List the planets', 'list'],
  ['Write a Python function that adds', 'code'],
  ['Write an email to my boss', 'write mail'],
  ['Draft a polite e-mail to Tom', 'write mail'],
  ['Write a short poem about rain', 'write poem'],
  ['Who wrote Faust?', 'fact'],
  ['解释一下渗透作用。', 'explain'],
  ['请问什么是通货膨胀？', 'explain'],
  ['通货膨胀是什么意思？', 'explain'],
  ['帮我介绍一下故宫', 'explain'],
  ['为什么天空是蓝色的？', 'why'],
  ['怎么做红烧肉？', 'howto'],
  ['计算 25 乘以 16。', 'solve'],
  ['小明有3个苹果，又买了5个，一共有多少个？', 'solve'],
  ['把这句话翻译成英文：我很好。', 'translate'],
  ['总结这篇文章', 'summarise'],
  ['批改这份作业', 'grade'],
  ['给这篇作文写评语', 'comment'],
  ['写一首关于雨的诗', 'write 诗'],
  ['帮我写一封道歉信', 'write 信'],
  ['用命令行怎么查看端口？', 'shell'],
  ['推荐一部电影', 'suggest'],
  ['hm', null],
  ['', null],
])('%j is of kind %j', (request, kind) => {
  expect(requestKind(request)).toBe(kind)
})

test.each([
  ['Explain osmosis.', 'Explain inflation.', true],
  ['Explain osmosis.', 'What is inflation?', true],
  ['Explain osmosis.', '什么是通货膨胀？', true],
  ['Explain osmosis.', 'Translate osmosis into German.', false],
  ['Explain osmosis.', 'Write a poem about osmosis.', false],
  ['Write an email to my boss.', 'Draft an e-mail to the bank.', true],
  ['Write an email to my boss.', 'Write a poem about my boss.', false],
  ['写一首关于雨的诗', '帮我写一首诗', true],
  ['写一首关于雨的诗', '写一封信', false],
  ['Mia: 3 apples, 4 pears', 'Tom: 3 apples, 4 pears', true],
  ['Mia: 3 apples, 4 pears', 'the weather', false],
  ['', '', false],
])('%j and %j are of one kind: %j', (a, b, same) => {
  expect(sameKindOfRequest(a, b)).toBe(same)
  expect(sameKindOfRequest(b, a)).toBe(same)
})

test('any two texts can be compared', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(fc.property(text, text, (a, b) => sameKindOfRequest(a, b) === sameKindOfRequest(b, a)))
})

test.each(['please ', '你', 'explain ', 'what is the ', '请', 'write a new ', '把'])(
  'a megabyte of %j has a kind or none',
  (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    expect(sameKindOfRequest(text, text)).toBe(true)
  },
)
