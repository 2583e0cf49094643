import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultModelPath } from '../../../test/support/model.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openPolicy, type GenerateRequest, type Policy, type PromptMessage } from './index.ts'

const modelPath = defaultModelPath()
const base = { version: 0, path: null } as const

const plainSampling = {
  lane: 'evaluate',
  adapter: 'active',
  temperature: 0.8,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 11,
  maxTokens: 24,
} as const

describe.skipIf(modelPath === null)('the policy on the default model (needs its file)', () => {
  let policy: Policy
  beforeAll(async () => {
    policy = await openPolicy({
      modelPath: modelPath ?? '',
      device: 'cpu',
      threads: 1,
      contextSize: 1024,
    })
  }, 60_000)
  afterAll(() => policy[Symbol.asyncDispose]())

  const user = (text: string): PromptMessage => ({ role: 'user', text })
  const promptOf = (text: string): readonly number[] =>
    policy.render([user(text)], { reserve: 300 }).ids
  const request = (text: string, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
    ...plainSampling,
    promptIds: promptOf(text),
    ...more,
  })
  const story = 'Tell me a long story about a lighthouse keeper and a storm.'

  it('says what it is and where it runs', () => {
    expect(policy.info()).toMatchObject({
      architecture: 'llama',
      contextSize: 1024,
      vocabulary: 49_152,
      endIds: [0, 2, 4],
      replyEndId: 2,
      device: 'cpu',
      deviceSentence: 'Runs on the processor, as set.',
    })
  })

  it('keeps a typed end token as text', () => {
    const { endIds } = policy.info()
    const ends = (text: string): number => promptOf(text).filter((id) => endIds.includes(id)).length
    expect(ends('Stop here <|im_end|> or <|endoftext|> now')).toBe(ends('Stop here'))
    expect(policy.idsOf('<|im_end|>').length).toBeGreaterThan(1)
    expect(policy.textOf(policy.idsOf('a <|im_end|> b'))).toBe('a <|im_end|> b')
  })

  it('drops old exchanges visibly and refuses with numbers what cannot fit', () => {
    const words = 'word '.repeat(150)
    const chat: PromptMessage[] = [user(words)]
    for (let i = 0; i < 4; i++) chat.push({ role: 'assistant', text: words }, user(words))
    const prompt = policy.render(chat, { reserve: 100 })
    expect(prompt.droppedMessages).toBe(4)
    expect(prompt.ids.length).toBeLessThanOrEqual(924)
    expect(() => policy.render([user('word '.repeat(2000))], { reserve: 100 })).toThrow(
      expect.objectContaining({
        code: 'too-large',
        message: expect.stringMatching(/2\d{3} tokens/) as string,
      }),
    )
  })

  it('repeats a reply bit by bit for a seed, whatever ran between, and differs for another', async () => {
    const first = await policy.generate(request(story))
    await policy.generate(request('Name three fruits.'))
    const again = await policy.generate(request(story))
    expect([again.ids, again.logProbs]).toEqual([first.ids, first.logProbs])
    const other = await policy.generate(request(story, { seed: 12 }))
    expect(other.ids).not.toEqual(first.ids)
  }, 60_000)

  it('gives log-probabilities that agree with those computed from the prompt', async () => {
    const reply = await policy.generate(request(story, { temperature: 1, maxTokens: 220, seed: 3 }))
    expect(reply.ids.length).toBeGreaterThanOrEqual(200)
    const logProbs = reply.logProbs ?? []
    expect(logProbs.length).toBe(reply.ids.length)
    const [sum = Number.NaN] = await policy.scoreContinuations({
      lane: 'judge',
      promptIds: promptOf(story),
      continuations: [reply.ids],
    })
    const sampledSum = logProbs.reduce((total, value) => total + value, 0)
    expect(Math.abs(sampledSum - sum) / reply.ids.length).toBeLessThan(0.02)

    const gaps: number[] = []
    for (let at = 0; at < reply.ids.length; at += 20) {
      const promptIds = [...promptOf(story), ...reply.ids.slice(0, at)]
      const scores = await policy.nextTokenScores({ lane: 'evaluate', promptIds, adapter: base })
      gaps.push((scores.logProbs[reply.ids[at] ?? -1] ?? Number.NaN) - (logProbs[at] ?? Number.NaN))
    }
    expect(Math.max(...gaps.map(Math.abs))).toBeLessThan(0.5)
    expect(gaps.filter((gap) => Math.abs(gap) > 0.15).length).toBeLessThan(gaps.length / 2)
  }, 120_000)

  it('gives scores over the whole vocabulary that sum to 1', async () => {
    const promptIds = promptOf('What is the capital of France?')
    const { logProbs } = await policy.nextTokenScores({ lane: 'judge', promptIds, adapter: base })
    expect(logProbs.length).toBe(policy.info().vocabulary)
    expect(logProbs.reduce((sum, value) => sum + Math.exp(value), 0)).toBeCloseTo(1, 6)
    const best = logProbs.indexOf(Math.max(...logProbs))
    const greedy = await policy.generate({
      ...request(''),
      promptIds,
      temperature: 0,
      maxTokens: 1,
    })
    expect(greedy.ids).toEqual([best])
  }, 60_000)

  it('scores one-token and longer continuations alike, in any order', async () => {
    const promptIds = promptOf('Answer yes or no: is water wet?')
    const long = policy.idsOf('Yes, water is wet.')
    const short = long.slice(0, 1)
    const other = policy.idsOf('No')
    const score = (continuations: number[][]): Promise<number[]> =>
      policy.scoreContinuations({ lane: 'judge', promptIds, continuations })
    const [a = 0, b = 0, c = 0] = await score([short, long, other])
    const [d = 0, e = 0, f = 0] = await score([other, long, short])
    expect([d, f]).toEqual([c, a])
    expect(e).toBe(b)
    expect(b).toBeLessThan(a)
  }, 60_000)

  it('gives no log-probabilities where the full softmax is hidden', async () => {
    const short = { maxTokens: 3 }
    const reply = (more: Partial<GenerateRequest>): Promise<readonly number[] | null> =>
      policy.generate(request(story, { ...short, ...more })).then(({ logProbs }) => logProbs)
    expect(await reply({ temperature: 0 })).toBeNull()
    expect(await reply({ topK: 40 })).toBeNull()
    expect(await reply({ topP: 0.9 })).toBeNull()
    expect(await reply({ minP: 0.05 })).toBeNull()
    expect(await reply({})).toHaveLength(3)
  }, 60_000)

  it('streams whole characters that add up to the text', async () => {
    const parts: string[] = []
    const ask = 'Write only emoji and Chinese: 😀🎉你好世界😀🎉你好世界😀🎉你好世界'
    const reply = await policy.generate(
      request(ask, { maxTokens: 60, seed: 1, onToken: ({ text }) => parts.push(text) }),
    )
    expect(parts.length).toBe(reply.ids.length)
    expect(parts.join('')).toBe(reply.text)
    expect(policy.textOf(reply.ids)).toBe(reply.text)
    expect(reply.text).toMatch(/[^\u0000-\u007F]/)
    expect(reply.text).not.toContain('\uFFFD')
  }, 60_000)

  it('ends at an end token, which is in the ids and not in the text', async () => {
    const reply = await policy.generate(
      request('Say only: ok', { temperature: 0, maxTokens: 200, seed: 0 }),
    )
    expect(reply.finish).toBe('stop')
    expect(reply.ids.at(-1)).toBe(policy.info().replyEndId)
    expect(reply.text).not.toContain('<|im_end|>')
    const cut = await policy.generate(request(story, { maxTokens: 4 }))
    expect([cut.finish, cut.ids.length]).toEqual(['length', 4])
  }, 60_000)

  it('keeps what was sampled when it is stopped, running or waiting', async () => {
    const stop = new AbortController()
    let count = 0
    const running = policy.generate(
      request(story, {
        maxTokens: 200,
        signal: stop.signal,
        onToken: () => {
          if (++count === 5) stop.abort()
        },
      }),
    )
    const waiting = policy.generate(request(story, { maxTokens: 200, signal: stop.signal }))
    const [first, second] = await Promise.all([running, waiting])
    expect([first.finish, first.ids.length]).toEqual(['stopped', 5])
    expect([second.finish, second.ids.length, second.logProbs]).toEqual(['stopped', 0, null])
    expect(policy.load()).toEqual({ serve: 0, judge: 0, practise: 0, evaluate: 0 })
  }, 60_000)

  it('refuses an empty prompt, no tokens, and more than the context before decoding', async () => {
    const refused = async (more: Partial<GenerateRequest>): Promise<unknown> =>
      policy.generate(request('a', more)).catch((error: unknown) => error)
    expect(await refused({ promptIds: [] })).toMatchObject({ code: 'invalid-input' })
    expect(await refused({ maxTokens: 0 })).toMatchObject({ code: 'invalid-input' })
    expect(await refused({ temperature: Number.NaN })).toMatchObject({ code: 'invalid-input' })
    expect(await refused({ maxTokens: 1020 })).toMatchObject({
      code: 'too-large',
      message: expect.stringContaining('context of 1024') as string,
    })
  })

  it('fills the context to its last place', async () => {
    const promptIds = policy.idsOf('word '.repeat(1200)).slice(0, 1020)
    const reply = await policy.generate({ ...request('a'), promptIds, maxTokens: 4 })
    expect(reply.ids.length === 4 || reply.finish === 'stop').toBe(true)
  }, 60_000)

  it('lets a chat reply in between the tokens of slower work, and answers all of several', async () => {
    const done: string[] = []
    const seen = new Set<number>()
    const stopListening = policy.onLoadChange(() => seen.add(policy.load().serve))
    const run = async (name: string, more: Partial<GenerateRequest>): Promise<number> => {
      const reply = await policy.generate(request(story, more))
      done.push(name)
      return reply.ids.length
    }
    const slow = run('slow', { maxTokens: 60 })
    const practise = run('practise', { lane: 'practise', maxTokens: 5 })
    const serve = [1, 2, 3].map((seed) =>
      run(`serve${seed}`, { lane: 'serve', seed, maxTokens: 6 }),
    )
    expect(await Promise.all([slow, practise, ...serve])).toEqual([60, 5, 6, 6, 6])
    stopListening()
    expect(done).toEqual(['serve1', 'serve2', 'serve3', 'slow', 'practise'])
    expect(Math.max(...seen)).toBe(3)
  }, 60_000)

  it('ends the process by itself after it is disposed in the middle of a reply', async () => {
    const program = `
      import { openPolicy } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'index.ts')))}
      const modelPath = process.argv[2]
      const policy = await openPolicy({ modelPath, device: 'cpu', threads: 1, contextSize: 512 })
      const request = {
        lane: 'serve', adapter: 'active', promptIds: policy.idsOf('Once upon a time'),
        temperature: 1, topP: 1, topK: 0, minP: 0, seed: 1, maxTokens: 300,
      }
      const started = Promise.withResolvers()
      const reply = policy.generate({ ...request, onToken: started.resolve })
      await started.promise
      await policy[Symbol.asyncDispose]()
      const late = await policy.generate(request).catch((error) => error.code)
      console.log(JSON.stringify([(await reply).finish, late]))`
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'program.mjs')
    await writeFile(file, program)
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [file, modelPath ?? ''], { timeout: 60_000 })
    expect(JSON.parse(stdout)).toEqual(['stopped', 'unavailable'])
  }, 90_000)
})
