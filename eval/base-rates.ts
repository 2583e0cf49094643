// How often the base meets a persona's wish, bare and once told: node eval/base-rates.ts --persona brief --count 16
import { Command } from 'commander'
import { openPolicy } from '../app/main/policy/index.ts'
import type { Policy } from '../app/main/policy/types.ts'
import { AppError, toAppError } from '../app/shared/errors.ts'
import { defaultModelPath } from '../test/support/model.ts'
import { withHint } from './measure.ts'
import { findPersona } from './personas/index.ts'
import type { Check } from './personas/persona.ts'
import { shareText } from './report.ts'

interface Flags {
  persona: string
  count: string
  seed: string
  hint?: string
  model?: string
  show?: true
}

const maxTokens = 512

async function firstReply(policy: Policy, text: string, seed: number) {
  return policy.generate({
    lane: 'evaluate',
    promptIds: policy.render([{ role: 'user', text }], { reserve: maxTokens }).ids,
    adapter: { version: 0, path: null },
    temperature: 0.6,
    topP: 1,
    topK: 0,
    minP: 0,
    seed,
    maxTokens,
  })
}

async function main(): Promise<void> {
  const flags = new Command('base-rates')
    .option('--persona <name>', 'whose wish', 'brief')
    .option('--count <n>', 'how many first replies', '50')
    .option('--seed <n>', 'order of the requests', '1')
    .option('--hint <text>', 'measure with this hint only')
    .option('--show', 'print every reply')
    .option('--model <file>', 'GGUF to measure (default: the one npm start fetched)')
    .parse()
    .opts<Flags>()
  const modelPath = flags.model ?? defaultModelPath()
  if (modelPath === null) throw new AppError('not-found', 'no model: give --model FILE.gguf')
  const persona = findPersona(flags.persona)
  const requests = persona.requests(Number(flags.seed)).slice(0, Number(flags.count))
  await using policy = await openPolicy({ modelPath, device: 'cpu', threads: 1, contextSize: 2048 })
  for (const told of flags.hint === undefined ? [false, true] : [true]) {
    const checks: Check[] = []
    for (const [index, request] of requests.entries()) {
      const text = told ? withHint(request, flags.hint ?? persona.hint) : request
      const { text: reply } = await firstReply(policy, text, Number(flags.seed) * 1000 + index)
      const check = persona.check(reply)
      checks.push(check)
      if (flags.show === true) console.log(`--- ${request}\n${reply}\n=== ${check.detail}`)
    }
    const satisfied = checks.filter((check) => check.satisfied).length
    console.log(
      `${persona.name}, ${told ? 'with the hint' : 'bare'}: ${shareText([satisfied, checks.length])}`,
    )
    console.log(`  ${checks.map(({ detail }) => detail).join(', ')}`)
  }
}

try {
  await main()
} catch (error) {
  console.error(`base-rates: ${toAppError(error).message}`)
  process.exitCode = 1
}
