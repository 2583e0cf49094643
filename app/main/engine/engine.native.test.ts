import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  decodeFloats,
  fillReferenceAdapter,
  halvesOf,
  readReference,
  referenceLoss,
  relativeDifference,
  tinyConfig,
  writeTinyModel,
  type TinyReference,
} from '../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { adamw, openEngine } from './index.ts'
import type { Adapter, AdapterGradients, Engine, EngineModel, SequenceRequest } from './types.ts'

const reference = readReference<TinyReference>('tiny')
const gatherIds = Int32Array.from(reference.case.gatherIds)
const loss = referenceLoss(reference.case)
const tolerance = 1e-3

let folder: TemporaryFolder
let engine: Engine
let model: EngineModel

beforeAll(async () => {
  folder = await temporaryFolder()
  await writeTinyModel(path.join(folder.path, 'tiny.gguf'))
  engine = await openEngine({ threads: 1 })
  model = await engine.loadModel(path.join(folder.path, 'tiny.gguf'))
})

afterAll(async () => {
  await engine[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
  expect(engine.liveHandles()).toBe(0)
})

function referenceAdapter(of: EngineModel = model): Adapter {
  const adapter = of.createAdapter({ rank: reference.rank, alpha: reference.alpha, seed: 1 })
  return fillReferenceAdapter(adapter, reference.bScale)
}

function request(adapter: Adapter): SequenceRequest & { adapter: Adapter } {
  const { tokens, responseStart, temperature } = reference.case
  return { tokens: Int32Array.from(tokens), responseStart, temperature, adapter }
}

async function backward(
  of: EngineModel = model,
): Promise<{ loss: number; gradients: AdapterGradients; adapter: Adapter }> {
  const adapter = referenceAdapter(of)
  const gradients = of.createGradients(adapter)
  const result = await of.backward({ ...request(adapter), gatherIds, loss, gradients })
  return { loss: result.loss, gradients, adapter }
}

async function klBackward(
  of: EngineModel = model,
): Promise<{ kl: number; gradients: AdapterGradients; adapter: Adapter }> {
  const adapter = referenceAdapter(of)
  const gradients = of.createGradients(adapter)
  const plain = { ...request(adapter), temperature: 1 }
  const baseHidden = await of.hidden({ ...plain, adapter: null })
  const { kl } = await of.klBackward({ ...plain, baseHidden, weight: 1, gradients })
  return { kl, gradients, adapter }
}

function expectGradients(
  found: { adapter: Adapter; gradients: AdapterGradients },
  expected: Readonly<Record<string, string>>,
): void {
  for (const { name, values } of halvesOf(found.adapter, found.gradients.tensors)) {
    const difference = relativeDifference(values, decodeFloats(expected[name] ?? ''))
    expect(difference, name).toBeLessThan(tolerance)
  }
}

const bytesOf = (arrays: readonly Float32Array[]): Buffer =>
  Buffer.concat(
    arrays.map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)),
  )

const gradientBytes = (gradients: AdapterGradients): Buffer =>
  bytesOf(gradients.tensors.flatMap(({ a, b }) => [a, b]))

describe('against the recorded PyTorch reference', () => {
  it('log-probabilities and the likeliest tokens agree', async () => {
    const score = await model.score({ ...request(referenceAdapter()), gatherIds, topK: 4 })
    expect(relativeDifference(score.gathered, reference.logProbs)).toBeLessThan(tolerance)
    expect([...score.topIds]).toEqual(reference.topIds)
    const M = reference.case.idsPerRow
    score.sampled.forEach((value, row) => expect(value).toBe(score.gathered[row * M]))
  })

  it('the loss and the gradient of every pair agree', async () => {
    const found = await backward()
    expect(Math.abs(found.loss / reference.loss - 1)).toBeLessThan(tolerance)
    expectGradients(found, reference.gradients)
  })

  it('the divergence from the base and its gradients agree', async () => {
    const found = await klBackward()
    const mean = reference.kl.reduce((sum, value) => sum + value, 0) / reference.kl.length
    expect(Math.abs(found.kl / mean - 1)).toBeLessThan(tolerance)
    expectGradients(found, reference.klGradients)
  })

  it('ten AdamW updates follow the same path', async () => {
    const adapter = referenceAdapter()
    const optimiser = adamw(adapter)
    for (let step = 0; step < reference.adamw.losses.length; step += 1) {
      const gradients = model.createGradients(adapter)
      const result = await model.backward({ ...request(adapter), gatherIds, loss, gradients })
      const { norm } = optimiser.step(gradients, { learningRate: reference.adamw.learningRate })
      expect(
        Math.abs(result.loss - (reference.adamw.losses[step] ?? NaN)),
        `loss ${step}`,
      ).toBeLessThan(tolerance * Math.abs(reference.adamw.losses[0] ?? NaN))
      expect(
        Math.abs(norm / (reference.adamw.norms[step] ?? NaN) - 1),
        `norm ${step}`,
      ).toBeLessThan(tolerance)
    }
    for (const { name, values } of halvesOf(adapter)) {
      const expected = decodeFloats(reference.adamw.final[name] ?? '')
      expect(relativeDifference(values, expected), name).toBeLessThan(tolerance)
    }
  })
})

describe('independence of how the work is cut', () => {
  it('one and two threads give the same bytes', async () => {
    const run = async (threads: number): Promise<Buffer> => {
      engine.setThreads(threads)
      const found = await backward()
      const kl = await klBackward()
      const score = await model.score({ ...request(found.adapter), gatherIds, topK: 4 })
      return Buffer.concat([
        gradientBytes(found.gradients),
        gradientBytes(kl.gradients),
        bytesOf([score.gathered, score.topLogProbs]),
      ])
    }
    const two = await run(2)
    const one = await run(1)
    expect(one.equals(two)).toBe(true)
  })

  it('changing the threads at every pause gives the same bytes', async () => {
    const plain = await backward()
    const adapter = referenceAdapter()
    const gradients = model.createGradients(adapter)
    let pauses = 0
    const yieldPoint = async (): Promise<{ threads: number }> => ({ threads: 1 + (pauses++ % 2) })
    await model.backward({ ...request(adapter), gatherIds, loss, gradients, yieldPoint })
    expect(pauses).toBeGreaterThan(0)
    expect(gradientBytes(gradients).equals(gradientBytes(plain.gradients))).toBe(true)
  })

  it('values computed again instead of kept give the same bytes', async () => {
    const plain = await backward()
    await using frugal = await openEngine({ threads: 1, keptBytes: 0 })
    await using copy = await frugal.loadModel(path.join(folder.path, 'tiny.gguf'))
    const again = await backward(copy)
    expect(gradientBytes(again.gradients).equals(gradientBytes(plain.gradients))).toBe(true)
  })

  it('calls made at once give what they give one after another', async () => {
    const alone = [await backward(), await klBackward()] as const
    const together = await Promise.all([backward(), klBackward()])
    together.forEach((found, i) => {
      const expected = alone[i]?.gradients ?? { tensors: [] }
      expect(gradientBytes(found.gradients).equals(gradientBytes(expected))).toBe(true)
    })
  })
})

describe('adapters', () => {
  it('a new adapter changes no bit of a score and no divergence arises', async () => {
    const adapter = model.createAdapter({ rank: 8, alpha: 16, seed: 3 })
    const fresh = await model.score(request(adapter))
    const base = await model.score({ ...request(adapter), adapter: null })
    expect(relativeDifference(fresh.sampled, base.sampled)).toBeLessThan(1e-5)
    const baseHidden = await model.hidden({ ...request(adapter), adapter: null })
    const kl = await model.kl({ ...request(adapter), baseHidden })
    expect(Math.max(...kl)).toBeLessThan(1e-5)
  })

  it('changed numbers count once the revision is raised, and adapters do not mix', async () => {
    const [first, second] = [referenceAdapter(), referenceAdapter()]
    const before = await model.score(request(first))
    second.tensors[0]?.b.fill(0)
    second.revision += 1
    const other = await model.score(request(second))
    const again = await model.score(request(first))
    expect(relativeDifference(other.sampled, before.sampled)).toBeGreaterThan(1e-4)
    expect([...again.sampled]).toEqual([...before.sampled])
  })

  it.each([1, 16, 40])(
    'rank %i trains: a step against the gradient lowers the loss',
    async (rank) => {
      const adapter = model.createAdapter({ rank, alpha: 2 * rank, seed: rank })
      const gradients = model.createGradients(adapter)
      const call = { ...request(adapter), gatherIds, loss }
      const before = await model.backward({ ...call, gradients })
      adamw(adapter).step(gradients, { learningRate: 1e-3 })
      const after = await model.backward({ ...call, gradients: model.createGradients(adapter) })
      expect(after.loss).toBeLessThan(before.loss)
    },
  )

  it('gradients are added to what is there', async () => {
    const once = await backward()
    const adapter = referenceAdapter()
    const gradients = model.createGradients(adapter)
    for (let i = 0; i < 2; i += 1)
      await model.backward({ ...request(adapter), gatherIds, loss, gradients })
    const half = halvesOf(adapter, gradients.tensors).map(({ values }) => values.map((x) => x / 2))
    expect(bytesOf(half).equals(gradientBytes(once.gradients))).toBe(true)
  })
})

describe('what is asked', () => {
  const base = (): SequenceRequest => ({ ...request(referenceAdapter()), adapter: null })

  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      'a token outside the vocabulary',
      () => model.score({ ...base(), tokens: Int32Array.of(1, 2, 256), responseStart: 1 }),
      'invalid-input',
      /tokens\[2\] is 256, the vocabulary has 256/,
    ],
    [
      'a negative token',
      () => model.score({ ...base(), tokens: Int32Array.of(1, -2, 3), responseStart: 1 }),
      'invalid-input',
      /tokens\[1\] is -2/,
    ],
    [
      'an empty response',
      () => model.score({ ...base(), responseStart: 48 }),
      'invalid-input',
      /responseStart must be from 1 to 47/,
    ],
    [
      'a response without a prompt',
      () => model.score({ ...base(), responseStart: 0 }),
      'invalid-input',
      /responseStart/,
    ],
    [
      'a single token',
      () => model.score({ ...base(), tokens: Int32Array.of(1), responseStart: 1 }),
      'invalid-input',
      /two tokens/,
    ],
    [
      'temperature zero',
      () => model.score({ ...base(), temperature: 0 }),
      'invalid-input',
      /temperature must be positive/,
    ],
    [
      'a sequence longer than the context',
      () => model.score({ ...base(), tokens: new Int32Array(257), responseStart: 5 }),
      'too-large',
      /257 tokens, at most 256/,
    ],
    [
      'ids that do not fill the rows',
      () => model.score({ ...base(), gatherIds: new Int32Array(5) }),
      'invalid-input',
      /5 ids do not fill 27 positions/,
    ],
    [
      'a wild id to gather',
      () => model.score({ ...base(), gatherIds: new Int32Array(27).fill(999) }),
      'invalid-input',
      /gatherIds\[0\] is 999/,
    ],
    [
      'more likely tokens than there are',
      () => model.score({ ...base(), topK: 257 }),
      'invalid-input',
      /topK/,
    ],
    [
      'base states of another length',
      () => model.kl({ ...base(), baseHidden: new Float32Array(3) }),
      'invalid-input',
      /expected 1728 numbers in baseHidden/,
    ],
    [
      'an adapter of another model',
      () => model.score({ ...base(), adapter: foreignAdapter() }),
      'unsupported',
      /blk\.0\.attn_q/,
    ],
  ])('refuses %s before ggml sees it', async (...[, action, code, message]) => {
    await expect(action()).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    })
  })

  it('an error in the loss and a refusal at a pause reach the caller, and the model goes on', async () => {
    const adapter = referenceAdapter()
    const gradients = model.createGradients(adapter)
    const call = { ...request(adapter), gatherIds, gradients }
    const failing = (): never => {
      throw new Error('the loss failed')
    }
    await expect(model.backward({ ...call, loss: failing })).rejects.toThrow('the loss failed')
    const yieldPoint = (): Promise<never> => Promise.reject(new Error('abandoned'))
    await expect(model.backward({ ...call, loss, yieldPoint })).rejects.toThrow('abandoned')
    const after = await backward()
    expectGradients(after, reference.gradients)
  })

  function foreignAdapter(): Adapter {
    const adapter = referenceAdapter()
    const tensors = adapter.tensors.map((tensor) => ({
      ...tensor,
      inFeatures: tensor.inFeatures + 1,
    }))
    return { ...adapter, tensors }
  }
})

describe('native memory', () => {
  it('fifty rounds of scoring and gradients leave no handle behind', async () => {
    await backward()
    const before = engine.liveHandles()
    for (let round = 0; round < 50; round += 1) {
      await backward()
      await model.score(request(referenceAdapter()))
    }
    expect(engine.liveHandles()).toBe(before)
  })

  it('closing a model and an engine frees everything, and a closed model says so', async () => {
    const other = await openEngine({ threads: 1 })
    const copy = await other.loadModel(path.join(folder.path, 'tiny.gguf'))
    await backward(copy)
    expect(other.liveHandles()).toBeGreaterThan(1)
    await copy[Symbol.asyncDispose]()
    expect(other.liveHandles()).toBe(1)
    await expect(
      copy.score({ ...request(referenceAdapter()), adapter: null }),
    ).rejects.toMatchObject({ code: 'unavailable' })
    await other[Symbol.asyncDispose]()
    expect(other.liveHandles()).toBe(0)
  })

  it('a file that is no model leaves nothing behind', async () => {
    const before = engine.liveHandles()
    const missing = engine.loadModel(path.join(folder.path, 'none.gguf'))
    await expect(missing).rejects.toMatchObject({ code: 'not-found' })
    expect(engine.liveHandles()).toBe(before)
  })
})

it('reads the facts of a model from its file', () => {
  const { layers, width, ff, heads, kv, vocab, context } = tinyConfig
  expect(model.info).toMatchObject({
    architecture: 'llama',
    layers,
    width,
    feedForward: ff,
    heads,
    keyValueHeads: kv,
    headSize: width / heads,
    vocabulary: vocab,
    contextLength: context,
    tiedHead: true,
  })
  expect(engine.backend.libraryVersion).toMatch(/^\d+\.\d+\.\d+$/)
})

it('names the folder that holds no libraries', async () => {
  const opening = openEngine({ threads: 1, libraryDir: folder.path })
  await expect(opening).rejects.toMatchObject({ code: 'unavailable' })
})
