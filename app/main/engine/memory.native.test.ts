// What a call needs is known before anything is allocated, and what does not fit is refused with what would help.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTinyModel } from '../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openEngine } from './index.ts'
import type { EngineModel } from './types.ts'

let folder: TemporaryFolder
let file: string

beforeAll(async () => {
  folder = await temporaryFolder()
  file = path.join(folder.path, 'tiny.gguf')
  await writeTinyModel(file)
})

afterAll(() => folder[Symbol.asyncDispose]())

const mebibyte = 2 ** 20
const size = { tokens: 200, responseTokens: 90, rank: 16 }

async function withModel(
  precision: 'f32' | 'native',
  use: (model: EngineModel, limit: (bytes: number) => void) => Promise<void>,
): Promise<void> {
  let available = 1024 * mebibyte
  await using engine = await openEngine({ threads: 1, precision, availableBytes: () => available })
  const model = await engine.loadModel(file)
  await use(model, (bytes) => {
    available = bytes
  })
}

function backward(model: EngineModel) {
  const { tokens: count, responseTokens, rank } = size
  const adapter = model.createAdapter({ rank, alpha: 32, seed: 1 })
  const tokens = Int32Array.from({ length: count }, (_, i) => (i * 7) % model.info.vocabulary)
  const gradients = model.createGradients(adapter)
  const loss = (logProbs: Float32Array) => ({ loss: 0, gradient: logProbs.map(() => 1) })
  const responseStart = count - responseTokens
  const gatherIds = tokens.slice(responseStart)
  return model.backward({
    ...{ tokens, responseStart, temperature: 1, adapter, gradients, gatherIds, loss },
  })
}

describe.each(['f32', 'native'] as const)('%s', (precision) => {
  it('a plan names its parts, which add up, and keeps values where they fit', async () => {
    await withModel(precision, async (model) => {
      const plan = model.memoryPlan(size)
      expect(plan.parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(plan.totalBytes)
      expect(plan.parts.map(({ name }) => name)).toEqual(
        expect.arrayContaining([
          'weights',
          'transposed weights',
          'values kept for backward',
          'backward',
          'head',
        ]),
      )
      expect(plan).toMatchObject({ fits: true, recomputes: false })
      // The weights are loaded already.
      expect(plan.neededBytes).toBeLessThan(plan.totalBytes)
      const longer = model.memoryPlan({ ...size, tokens: 250 })
      expect(longer.totalBytes).toBeGreaterThan(plan.totalBytes)
    })
  })

  it('computes values again where keeping them does not fit, with the same result', async () => {
    await withModel(precision, async (model, limit) => {
      const kept = await backward(model)
      await withModel(precision, async (other, limitOther) => {
        const plan = other.memoryPlan(size)
        limitOther(plan.neededBytes - 1)
        const frugal = other.memoryPlan(size)
        expect(frugal).toMatchObject({ fits: true, recomputes: true })
        expect(frugal.totalBytes).toBeLessThan(plan.totalBytes)
        limitOther(frugal.neededBytes)
        const { gathered } = await backward(other)
        expect([...gathered]).toEqual([...kept.gathered])
      })
      limit(0)
      // Nothing more is needed for a call of the same size.
      await backward(model)
    })
  })

  it('what does not fit is refused with numbers and advice, and a smaller call still works', async () => {
    await withModel(precision, async (model, limit) => {
      const { neededBytes } = model.memoryPlan({ ...size, tokens: 120 })
      limit(neededBytes)
      expect(model.memoryPlan({ tokens: 250, responseTokens: 100, rank: 256 })).toMatchObject({
        fits: false,
      })
      const asked = backward(model)
      const outcome = await asked.then(
        () => 'fitted',
        (error: unknown) => error,
      )
      if (outcome !== 'fitted') {
        expect(outcome).toMatchObject({ code: 'out-of-memory' })
        expect(String(outcome)).toMatch(/tokens need \d+ MiB more, \d+ MiB are free/)
        expect(String(outcome)).toMatch(/a limit of \d+ tokens per sample/)
      }
      limit(0)
      const score = model.score({
        tokens: Int32Array.from({ length: 240 }, (_, i) => i),
        ...{ responseStart: 100, temperature: 1, adapter: null },
      })
      await expect(score).rejects.toMatchObject({ code: 'out-of-memory' })
      limit(1024 * mebibyte)
      expect((await backward(model)).gathered).toHaveLength(size.responseTokens)
    })
  })

  it.each([
    { tokens: 0, responseTokens: 0, rank: 16 },
    { tokens: 10, responseTokens: 10, rank: 16 },
    { tokens: 10, responseTokens: 5, rank: 1.5 },
  ])('no plan for $responseTokens of $tokens tokens at rank $rank', async (request) => {
    await withModel(precision, async (model) => {
      expect(() => model.memoryPlan(request)).toThrow('no plan for')
    })
  })
})

it('weights that do not fit are refused before they are loaded', async () => {
  await using engine = await openEngine({ threads: 1, availableBytes: () => 1000 })
  await expect(engine.loadModel(file)).rejects.toMatchObject({
    code: 'out-of-memory',
    message: expect.stringContaining("the model's weights need") as string,
  })
  expect(engine.liveHandles()).toBeGreaterThan(0)
})
