import { openPolicy } from '../app/main/policy/index.ts'
import type { Generation, Policy } from '../app/main/policy/types.ts'
import type { BenchCase } from './machine.ts'

const shortPrompt = 'Name three rivers in Europe and one city on each of them.'
const longPrompt = `${'The ferry leaves the harbour at nine and comes back before dark. '.repeat(60)}When does the ferry leave?`
const replyTokens = 128
const repeats = 5

/** Serving through the policy's door: tokens per second and time to the first token, medians. */
export async function benchServe(modelPath: string): Promise<BenchCase[]> {
  await using policy = await openPolicy({ modelPath, device: 'auto', threads: 1 })
  const device = policy.info().device
  const cases: BenchCase[] = []
  for (const [name, prompt] of [
    ['short prompt', shortPrompt],
    ['long prompt', longPrompt],
  ] as const) {
    // The first reply also pays for what is made lazily.
    await reply(policy, prompt, 0)
    const replies: Generation[] = []
    for (let index = 1; index <= repeats; index++) replies.push(await reply(policy, prompt, index))
    const promptTokens = replies[0]?.promptTokens ?? 0
    const label = `${name}, ${promptTokens} tokens, ${device}, 1 thread`
    cases.push(
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
    )
  }
  return cases
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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
