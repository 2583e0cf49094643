// A whole tiny model on native kernels against the recorded PyTorch reference.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  decodeFloats,
  fillReferenceAdapter,
  halvesOf,
  readReference,
  referenceLoss,
  relativeDifference,
  writeTinyModel,
  type TinyReference,
} from '../../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { openEngine } from '../index.ts'
import type { EngineModel } from '../types.ts'

const reference = readReference<TinyReference>('tiny')
const gatherIds = Int32Array.from(reference.case.gatherIds)
const engine = await openEngine({ threads: 2, precision: 'native' })
const { kernels, kernelsReason } = engine.backend

/** Products of factors rounded to bf16 (8 bits) differ by 2.4e-3 each; over two layers that adds up to this. */
const rounds = kernels?.includes('BF16') === true
const bound = rounds
  ? { logProbs: 1e-2, loss: 4e-2, gradient: 6e-2 }
  : { logProbs: 1e-4, loss: 1e-4, gradient: 1e-4 }

let folder: TemporaryFolder
let model: EngineModel

beforeAll(async () => {
  folder = await temporaryFolder()
  await writeTinyModel(path.join(folder.path, 'tiny.gguf'))
  model = await engine.loadModel(path.join(folder.path, 'tiny.gguf'))
})

afterAll(async () => {
  await engine[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
  expect(engine.liveHandles()).toBe(0)
})

function requestOf() {
  const { rank, alpha, bScale } = reference
  const adapter = fillReferenceAdapter(model.createAdapter({ rank, alpha, seed: 1 }), bScale)
  const { tokens, responseStart, temperature } = reference.case
  return { tokens: Int32Array.from(tokens), responseStart, temperature, adapter }
}

async function backward() {
  const request = requestOf()
  const gradients = model.createGradients(request.adapter)
  const loss = referenceLoss(reference.case)
  return { ...(await model.backward({ ...request, gatherIds, loss, gradients })), gradients }
}

if (kernels === null) it.skip(`no kernels here: ${kernelsReason ?? ''}`, () => undefined)

describe.skipIf(kernels === null)('the tiny model (skipped without a compiler)', () => {
  it('log-probabilities agree to the bound, and without rounding as closely as in f32', async () => {
    const score = await model.score({ ...requestOf(), gatherIds, topK: 4 })
    expect(relativeDifference(score.gathered, reference.logProbs)).toBeLessThan(bound.logProbs)
    if (!rounds) expect([...score.topIds]).toEqual(reference.topIds)
  })

  it('the loss and every gradient agree to the bound', async () => {
    const { loss, gradients } = await backward()
    expect(Math.abs(loss / reference.loss - 1)).toBeLessThan(bound.loss)
    for (const { name, values } of halvesOf(requestOf().adapter, gradients.tensors)) {
      const expected = decodeFloats(reference.gradients[name] ?? '')
      expect(relativeDifference(values, expected), name).toBeLessThan(bound.gradient)
    }
  })

  it('an adapter that is not a number gives no probabilities', async () => {
    const request = requestOf()
    request.adapter.tensors[0]?.b.fill(NaN)
    const score = await model.score({ ...request, gatherIds, topK: 4 })
    for (const values of [score.sampled, score.gathered, score.topLogProbs]) {
      expect(values.length).toBeGreaterThan(0)
      expect([...values].every(Number.isNaN)).toBe(true)
    }
  })

  it('one and two threads give the same bytes', async () => {
    const bytes = async (threads: number): Promise<Buffer> => {
      engine.setThreads(threads)
      const { gradients } = await backward()
      return Buffer.concat(
        gradients.tensors.flatMap(({ a, b }) => [Buffer.from(a.buffer), Buffer.from(b.buffer)]),
      )
    }
    const one = await bytes(1)
    expect(one.equals(await bytes(2))).toBe(true)
  })

  it('closing the model frees all of it', async () => {
    const before = engine.liveHandles()
    const copy = await engine.loadModel(path.join(folder.path, 'tiny.gguf'))
    expect(engine.liveHandles()).toBeGreaterThan(before)
    await copy[Symbol.asyncDispose]()
    expect(engine.liveHandles()).toBe(before)
  })
})
