// The default model against PyTorch on the same (dequantised) weights, and against node-llama-cpp as a server.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultModelPath } from '../../../test/support/model.ts'
import {
  fillReferenceAdapter,
  halvesOf,
  projectedDifference,
  readReference,
  referenceLoss,
  relativeDifference,
  uniformOf,
  writeTinyModel,
  type ModelReference,
} from '../../../test/support/numerics.ts'
import { servedLogProbs } from '../../../test/support/served-log-probs.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openEngine, writeAdapter } from './index.ts'
import type { Adapter, AdapterGradients, Engine, EngineModel } from './types.ts'

const modelPath = defaultModelPath()
const reference = readReference<ModelReference>('smollm2')
const gatherIds = Int32Array.from(reference.case.gatherIds)
const tolerance = 1e-3

let folder: TemporaryFolder
let engine: Engine

beforeAll(async () => {
  folder = await temporaryFolder()
  engine = await openEngine({ threads: 1 })
})

afterAll(async () => {
  await engine[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
  expect(engine.liveHandles()).toBe(0)
})

describe.skipIf(modelPath === null)('the default model (skipped without its file)', () => {
  let model: EngineModel
  let adapter: Adapter

  beforeAll(async () => {
    model = await engine.loadModel(modelPath ?? '')
    adapter = model.createAdapter({ rank: reference.rank, alpha: reference.alpha, seed: 1 })
    fillReferenceAdapter(adapter, reference.bScale)
  })

  const request = () => {
    const { tokens, responseStart, temperature } = reference.case
    return { tokens: Int32Array.from(tokens), responseStart, temperature, adapter }
  }

  function expectGradients(
    gradients: AdapterGradients,
    expected: ModelReference['gradients'],
  ): void {
    for (const { name, values } of halvesOf(adapter, gradients.tensors)) {
      const [norm = NaN] = expected[name] ?? []
      expect(projectedDifference(name, values, expected[name] ?? []), name).toBeLessThan(tolerance)
      expect(Math.abs(Math.hypot(...norms(values)) / norm - 1), name).toBeLessThan(tolerance)
    }
  }

  it('log-probabilities and likeliest tokens agree with PyTorch', async () => {
    const score = await model.score({ ...request(), gatherIds, topK: 4 })
    expect(relativeDifference(score.gathered, reference.logProbs)).toBeLessThan(tolerance)
    expect([...score.topIds]).toEqual(reference.topIds)
  })

  it('the loss and the gradient of every pair agree with PyTorch', async () => {
    const gradients = model.createGradients(adapter)
    const loss = referenceLoss(reference.case)
    const found = await model.backward({ ...request(), gatherIds, loss, gradients })
    expect(Math.abs(found.loss / reference.loss - 1)).toBeLessThan(tolerance)
    expectGradients(gradients, reference.gradients)
    const first = halvesOf(adapter, gradients.tensors)[0]
    if (first === undefined) throw new Error('no gradients')
    // The estimate itself can fail: a gradient off by one percent is seen.
    const wrong = first.values.map((value) => value * 1.01)
    const recorded = reference.gradients[first.name] ?? []
    expect(projectedDifference(first.name, wrong, recorded)).toBeGreaterThan(tolerance)
  })

  it('the divergence from the base and its gradients agree with PyTorch', async () => {
    const gradients = model.createGradients(adapter)
    const plain = { ...request(), temperature: 1 }
    const baseHidden = await model.hidden({ ...plain, adapter: null })
    const { kl } = await model.klBackward({ ...plain, baseHidden, weight: 1, gradients })
    const mean = reference.kl.reduce((sum, value) => sum + value, 0) / reference.kl.length
    expect(Math.abs(kl / mean - 1)).toBeLessThan(tolerance)
    expectGradients(gradients, reference.klGradients)
  })

  it('one and two threads give the same bytes', async () => {
    const run = async (threads: number): Promise<Buffer> => {
      engine.setThreads(threads)
      const gradients = model.createGradients(adapter)
      await model.backward({
        ...request(),
        gatherIds,
        loss: referenceLoss(reference.case),
        gradients,
      })
      const halves = halvesOf(adapter, gradients.tensors)
      return Buffer.concat(halves.map(({ values }) => Buffer.from(values.buffer)))
    }
    const one = await run(1)
    expect(one.equals(await run(2))).toBe(true)
  })

  it('node-llama-cpp loads a written adapter and serves the same probabilities', async () => {
    const file = path.join(folder.path, 'adapter.gguf')
    await writeAdapter(file, adapter, { architecture: model.info.architecture })
    expect(await model.readAdapter(file)).toEqual({ ...adapter, revision: 0 })
    const tokens = Int32Array.from([...reference.case.tokens, ...reference.case.tokens])
    expect(tokens.length).toBeGreaterThan(100)
    const call = { tokens, responseStart: 1, temperature: 1 }
    for (const [lora, own] of [
      [file, adapter],
      [null, null],
    ] as const) {
      const served = await servedLogProbs({ modelPath: modelPath ?? '', adapterPath: lora, tokens })
      const { sampled } = await model.score({ ...call, adapter: own })
      const gaps = served.map((value, i) => (sampled[i] ?? NaN) - value)
      // 4-bit weights: the server's own decode and prefill differ by 0.05 nat (PLATFORM, noise floor).
      expect(Math.abs(average(gaps))).toBeLessThan(0.03)
      expect(average(gaps.map(Math.abs))).toBeLessThan(0.1)
    }
    const changed = await model.score({ ...call, adapter })
    const base = await model.score({ ...call, adapter: null })
    expect(relativeDifference(changed.sampled, base.sampled)).toBeGreaterThan(0.05)
  })
})

it('on an f32 file node-llama-cpp serves the engine’s log-probabilities to 0.005 nat, with an adapter', async () => {
  const file = path.join(folder.path, 'tiny.gguf')
  const adapterPath = path.join(folder.path, 'tiny-adapter.gguf')
  await writeTinyModel(file)
  await using model = await engine.loadModel(file)
  const adapter = model.createAdapter({ rank: 4, alpha: 8, seed: 1 })
  fillReferenceAdapter(adapter, 0.05)
  await writeAdapter(adapterPath, adapter, { architecture: 'llama' })
  const tokens = Int32Array.from(
    uniformOf('served', 120),
    (value) => 3 + Math.floor(((value + 1) / 2) * 253),
  )
  for (const [lora, own] of [
    [adapterPath, adapter],
    [null, null],
  ] as const) {
    const served = await servedLogProbs({ modelPath: file, adapterPath: lora, tokens })
    const { sampled } = await model.score({
      tokens,
      responseStart: 1,
      temperature: 1,
      adapter: own,
    })
    expect(average(served.map((value, i) => Math.abs((sampled[i] ?? NaN) - value)))).toBeLessThan(
      0.005,
    )
  }
})

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Norms of pieces, so that a long array never becomes an argument list. */
function norms(values: Float32Array): number[] {
  return [Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))]
}
