// An exported adapter is what is served: a fresh process of stock node-llama-cpp with base + export agrees with our
// policy on the next token after 20 recorded prompts.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fileSource, parseGguf, readModelInfo, writeAdapter } from '../../app/main/engine/index.ts'
import { createAdapter } from '../../app/main/engine/nn/adapter.ts'
import { openPolicy } from '../../app/main/policy/index.ts'
import { writeF32Copy } from '../support/f32-copy.ts'
import { defaultModelPath } from '../support/model.ts'
import { fillReferenceAdapter } from '../support/numerics.ts'
import type { StockRequest } from '../support/stock-lora.ts'
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.ts'

const modelPath = defaultModelPath()
const promptTexts = z
  .array(z.string())
  .parse(JSON.parse(readFileSync('test/fixtures/export-prompts.json', 'utf8')))
const script = resolve('test/support/stock-lora.ts')
/** The likeliest next tokens, where a difference would be heard. */
const comparedTokens = 20

interface Served {
  readonly prompts: number[][]
  readonly ids: number[][]
  readonly logProbs: number[][]
}

/** Random numbers in both halves, so that every projection changes what is said. */
async function exportAdapter(base: string, path: string): Promise<void> {
  using source = fileSource(base)
  const info = readModelInfo(parseGguf(source))
  const adapter = fillReferenceAdapter(createAdapter(info, { rank: 16, alpha: 32, seed: 1 }), 0.02)
  await writeAdapter(path, adapter, { architecture: info.architecture })
}

function likeliest(logProbs: Float32Array): number[] {
  return [...logProbs.keys()]
    .sort((a, b) => (logProbs[b] ?? 0) - (logProbs[a] ?? 0))
    .slice(0, comparedTokens)
}

/** What our own serving gives under the adapter. */
async function serve(base: string, adapterPath: string): Promise<Served> {
  await using policy = await openPolicy({
    modelPath: base,
    device: 'cpu',
    threads: 1,
    contextSize: 512,
  })
  const adapter = { version: 1, path: adapterPath }
  await policy.prepare(adapter)
  await policy.activate(adapter)
  const served: Served = { prompts: [], ids: [], logProbs: [] }
  for (const text of promptTexts) {
    const promptIds = [...policy.render([{ role: 'user', text }], { reserve: 8 }).ids]
    const { logProbs } = await policy.nextTokenScores({ lane: 'evaluate', promptIds, adapter })
    const ids = likeliest(logProbs)
    served.prompts.push(promptIds)
    served.ids.push(ids)
    served.logProbs.push(ids.map((id) => logProbs[id] ?? NaN))
  }
  return served
}

/** What a fresh process that knows nothing of us gives for the same ids. */
async function stock(folder: string, request: StockRequest): Promise<number[][]> {
  const paths = [join(folder, 'request.json'), join(folder, 'answer.json')] as const
  await writeFile(paths[0], JSON.stringify(request))
  await promisify(execFile)(process.execPath, [script, ...paths])
  return z.array(z.array(z.number())).parse(JSON.parse(await readFile(paths[1], 'utf8')))
}

function gapsOf(served: Served, others: readonly (readonly number[])[]) {
  const gaps = served.logProbs.flatMap((row, prompt) =>
    row.map((value, index) => value - (others[prompt]?.[index] ?? NaN)),
  )
  expect(gaps).toHaveLength(promptTexts.length * comparedTokens)
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  return { signed: mean(gaps), absolute: mean(gaps.map(Math.abs)) }
}

describe('an exported adapter', () => {
  let folder: TemporaryFolder
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  async function compared(base: string) {
    const adapterPath = join(folder.path, 'export.gguf')
    await exportAdapter(base, adapterPath)
    const served = await serve(base, adapterPath)
    const { prompts, ids } = served
    const ask = (path: string | null) =>
      stock(folder.path, { modelPath: base, adapterPath: path, prompts, ids })
    const found = gapsOf(served, await ask(adapterPath))
    return { ...found, againstBare: async () => gapsOf(served, await ask(null)) }
  }

  it('of the quantised default model says the same elsewhere, within the noise of 4-bit weights', async ({
    skip,
  }) => {
    if (modelPath === null) return skip('the default model is not here')
    const { signed, absolute, againstBare } = await compared(modelPath)
    console.log(
      `export, quantised: gap ${signed.toFixed(5)} signed, ${absolute.toFixed(5)} absolute`,
    )
    expect(Math.abs(signed)).toBeLessThanOrEqual(0.02)
    expect(absolute).toBeLessThanOrEqual(0.07)
    // The comparison can fail: without the adapter the same prompts go on differently.
    expect((await againstBare()).absolute).toBeGreaterThan(0.2)
  })

  it('of an f32 file says the same elsewhere to 0.005 nat', async ({ skip }) => {
    if (modelPath === null) return skip('the default model is not here')
    const base = join(folder.path, 'f32.gguf')
    await writeF32Copy(modelPath, base)
    const { signed, absolute } = await compared(base)
    console.log(`export, f32: gap ${signed.toFixed(5)} signed, ${absolute.toFixed(5)} absolute`)
    expect(absolute).toBeLessThanOrEqual(0.005)
  })
})
