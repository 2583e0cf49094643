import { openPolicy } from '../app/main/policy/index.ts'
import type { Generation, Policy } from '../app/main/policy/types.ts'
import type { Bench, BenchOptions, BenchResult } from './bench.ts'
import { median } from './statistics.ts'

const shortPrompt = 'Name three rivers in Europe and one city on each of them.'
const longPrompt = `${'The ferry leaves the harbour at nine and comes back before dark. '.repeat(60)}When does the ferry leave?`
const replyTokens = 128
const repeats = 5

interface ServeCase {
  readonly name: string
  readonly value: number
  readonly unit: string
}

/** Serving through the policy's door: tokens per second and time to the first token, medians. */
async function run({ modelPath }: BenchOptions): Promise<BenchResult> {
  await using policy = await openPolicy({ modelPath, device: 'auto', threads: 1 })
  const cases: ServeCase[] = []
  for (const [name, prompt] of [
    ['short prompt', shortPrompt],
    ['long prompt', longPrompt],
  ] as const) {
    cases.push(...(await measurePrompt(policy, name, prompt)))
  }
  const text = cases.map(({ name, value, unit }) => `${name}: ${value.toFixed(1)} ${unit}`)
  return { json: { cases }, text: text.join('\n'), charts: {}, kernels: null, libraries: {} }
}

async function measurePrompt(policy: Policy, name: string, prompt: string): Promise<ServeCase[]> {
  // The first reply also pays for what is made lazily.
  await reply(policy, prompt, 0)
  const replies: Generation[] = []
  for (let index = 1; index <= repeats; index++) replies.push(await reply(policy, prompt, index))
  const promptTokens = replies[0]?.promptTokens ?? 0
  const label = `${name}, ${promptTokens} tokens, ${policy.info().device}, 1 thread`
  return [
    {
      name: `decode, ${label}`,
      value: median(replies.map(({ tokensPerSecond }) => tokensPerSecond)),
      unit: 'tokens/s',
    },
    {
      name: `time to first token, ${label}`,
      value: median(replies.map(({ timeToFirstTokenMs }) => timeToFirstTokenMs)),
      unit: 'ms',
    },
  ]
}

function reply(policy: Policy, text: string, seed: number): Promise<Generation> {
  // A changed beginning keeps a prompt cache from answering for the prefill.
  const prompt = `(${seed}) ${text}`
  return policy.generate({
    lane: 'serve',
    promptIds: policy.render([{ role: 'user', text: prompt }], { reserve: replyTokens }).ids,
    adapter: { version: 0, path: null },
    temperature: 0.6,
    topP: 1,
    topK: 0,
    minP: 0,
    seed,
    maxTokens: replyTokens,
  })
}

export const serve: Bench = {
  line: 'replies: tokens/s, time to the first token',
  run,
}
