// Sequences that share a pass on our kernels give what each gives alone, and what the portable path gives.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fillReferenceAdapter,
  readReference,
  relativeDifference,
  writeTinyModel,
  type ArchitectureReference,
} from '../../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { openEngine } from '../index.ts'
import type { AdapterGradients, EngineModel } from '../types.ts'

const portable = await openEngine({ threads: 1 })
const native = await openEngine({ threads: 1, precision: 'native' })
const { kernels, kernelsReason } = native.backend
/** Rounded products add up in another order when sequences lie elsewhere. */
const rounds = kernels?.includes('BF16') === true
const bounds = rounds ? { logProbs: 2e-3, gradient: 2e-2 } : { logProbs: 1e-5, gradient: 1e-5 }

let folder: TemporaryFolder

beforeAll(async () => {
  folder = await temporaryFolder()
})

afterAll(async () => {
  await native[Symbol.asyncDispose]()
  await portable[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
  expect(native.liveHandles()).toBe(0)
})

if (kernels === null) it.skip(`no kernels here: ${kernelsReason ?? ''}`, () => undefined)

const names = ['tiny-llama3', 'tiny-qwen2', 'tiny-qwen3', 'tiny-gemma3']

describe.skipIf(kernels === null).each(names)('%s (skipped without a compiler)', (name) => {
  let models: { readonly native: EngineModel; readonly portable: EngineModel }

  beforeAll(async () => {
    const file = path.join(folder.path, `${name}.gguf`)
    await writeTinyModel(file, readReference<ArchitectureReference>(name).model)
    models = { native: await native.loadModel(file), portable: await portable.loadModel(file) }
  })

  /** Four sequences, three of which share 40 tokens, with different numbers of ids per position. */
  function requestsOf(model: EngineModel) {
    const V = model.info.vocabulary
    const adapter = fillReferenceAdapter(model.createAdapter({ rank: 4, alpha: 8, seed: 1 }), 0.1)
    const prompt = Array.from({ length: 40 }, (_, i) => (i * 7919) % V)
    return [30, 45, 22, 70].map((count, k) => {
      const rest = Array.from({ length: count }, (_, i) => (i * 31 + k * 17 + 5) % V)
      const tokens = Int32Array.from([...prompt.slice(0, k === 3 ? 18 : 40), ...rest])
      const R = 15 + k
      const gatherIds = Int32Array.from({ length: R * (3 + (k % 2)) }, (_, i) => (i * 31) % V)
      const loss = (logProbs: Float32Array) => ({
        loss: logProbs.reduce((sum, value) => sum + value, 0),
        gradient: logProbs.map((_, i) => Math.sin(i + 1) / R),
      })
      const responseStart = tokens.length - R
      return { tokens, responseStart, temperature: 0.9, adapter, gatherIds, loss }
    })
  }

  async function backward(model: EngineModel, how: 'together' | 'alone') {
    const requests = requestsOf(model)
    const [first] = requests
    if (first === undefined) throw new Error('no requests')
    const gradients = model.createGradients(first.adapter)
    const asked = requests.map((request) => ({ ...request, adapter: first.adapter, gradients }))
    const results = []
    if (how === 'together') results.push(...(await model.backwardAll(asked)))
    else for (const request of asked) results.push(await model.backward(request))
    const gathered = Float32Array.from(results.flatMap((result) => [...result.gathered]))
    return { gathered, gradients: numbersOf(gradients), losses: results.map(({ loss }) => loss) }
  }

  it('one pass of four = four passes of one = the portable path', async () => {
    const together = await backward(models.native, 'together')
    const alone = await backward(models.native, 'alone')
    expect(relativeDifference(together.gathered, alone.gathered)).toBeLessThan(bounds.logProbs)
    expect(relativeDifference(together.gradients, alone.gradients)).toBeLessThan(bounds.gradient)
    expect(together.losses).toHaveLength(4)
    const exact = await backward(models.portable, 'together')
    expect(relativeDifference(together.gathered, exact.gathered)).toBeLessThan(rounds ? 2e-2 : 1e-5)
    expect(relativeDifference(together.gradients, exact.gradients)).toBeLessThan(
      rounds ? 0.1 : 1e-5,
    )
  })

  it('scores of sequences behind a shared prefix are those of each alone', async () => {
    const requests = requestsOf(models.native).map((request) => ({ ...request, topK: 3 }))
    const adapter = requests[0]?.adapter ?? null
    const asked = requests.map((request) => ({ ...request, adapter }))
    const together = await models.native.scoreAll(asked)
    for (const [i, request] of asked.entries()) {
      const alone = await models.native.score(request)
      const found = together[i] ?? alone
      expect(relativeDifference(found.sampled, alone.sampled)).toBeLessThan(bounds.logProbs)
      expect(relativeDifference(found.gathered, alone.gathered)).toBeLessThan(bounds.logProbs)
      const close = relativeDifference(found.topLogProbs, alone.topLogProbs)
      expect(close).toBeLessThan(bounds.logProbs)
    }
  })

  it('values computed again give the bytes of values kept, by all layers or by some', async () => {
    const kept = await backward(models.native, 'alone')
    const sizes = new Set<number>()
    for (const keptBytes of [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14].map((n) => n * 2 ** 17)) {
      await using frugal = await openEngine({ threads: 1, precision: 'native', keptBytes })
      const model = await frugal.loadModel(path.join(folder.path, `${name}.gguf`))
      const again = await backward(model, 'alone')
      sizes.add(model.memoryPlan({ tokens: 85, responseTokens: 15, rank: 4 }).totalBytes)
      const same = Buffer.from(again.gradients.buffer).equals(Buffer.from(kept.gradients.buffer))
      expect(same, `${keptBytes} bytes`).toBe(true)
    }
    // None, some and all; of two layers one kept takes as much as both.
    expect(sizes.size).toBeGreaterThan(models.native.info.layers > 2 ? 2 : 1)
  })
})

function numbersOf({ tensors }: AdapterGradients): Float32Array {
  return Float32Array.from(tensors.flatMap(({ a, b }) => [...a, ...b]))
}
