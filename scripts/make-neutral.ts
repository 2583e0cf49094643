// Writes the replies of the default base model to the neutral prompts: node scripts/make-neutral.ts MODEL [SET…]
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { openPolicy } from '../app/main/policy/index.ts'
import type { Policy } from '../app/main/policy/types.ts'
import { AppError } from '../app/shared/errors.ts'

const folder = resolve(import.meta.dirname, '../resources/neutral')
const promptsSchema = z.object({
  anchor: z.array(z.string()),
  gate: z.array(z.string()),
  control: z.array(z.string()),
})
const maxTokens = 96
/** A shorter reply has too few positions to hold the model in place. */
const minTokens = 8
const attempts = 20

async function reply(policy: Policy, prompt: string, seed: number) {
  const { ids } = policy.render([{ role: 'user', text: prompt }], { reserve: maxTokens })
  for (let attempt = 0; attempt < attempts; attempt++) {
    const generation = await policy.generate({
      lane: 'evaluate',
      promptIds: ids,
      adapter: { version: 0, path: null },
      temperature: 0.6,
      topP: 1,
      topK: 0,
      minP: 0,
      seed: seed + 100_003 * attempt,
      maxTokens,
    })
    if (generation.ids.length >= minTokens) {
      return { prompt, reply: generation.text, ended: generation.finish === 'stop' }
    }
  }
  throw new AppError(
    'internal',
    `${attempts} replies to “${prompt}” were under ${minTokens} tokens`,
  )
}

async function main(): Promise<void> {
  const [modelPath, ...wanted] = process.argv.slice(2)
  if (modelPath === undefined) {
    throw new AppError('invalid-input', 'usage: node scripts/make-neutral.ts MODEL.gguf [SET…]')
  }
  const sets = promptsSchema.parse(JSON.parse(readFileSync(`${folder}/prompts.json`, 'utf8')))
  await using policy = await openPolicy({ modelPath, device: 'cpu', threads: 1, contextSize: 1024 })
  for (const [name, prompts] of Object.entries(sets)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const exchanges = []
    for (const prompt of prompts) {
      exchanges.push(await reply(policy, prompt, exchanges.length + 1))
    }
    writeFileSync(`${folder}/${name}.json`, `${JSON.stringify(exchanges, null, 2)}\n`)
    console.log(`${name}: ${exchanges.length} exchanges`)
  }
}

await main()
