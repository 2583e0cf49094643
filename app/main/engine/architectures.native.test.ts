// One tiny random model per architecture against transformers (recorded in double precision) and against
// node-llama-cpp on the same file. What is the same for all architectures stands in engine.native.test.ts.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  decodeFloats,
  fillReferenceAdapter,
  halvesOf,
  projectedDifference,
  readReference,
  referenceLoss,
  relativeDifference,
  writeTinyModel,
  type ArchitectureReference,
} from '../../../test/support/numerics.ts'
import { servedLogProbs } from '../../../test/support/served-log-probs.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { adamw, openEngine, writeAdapter } from './index.ts'
import type { Adapter, Engine, EngineModel, SequenceRequest } from './types.ts'

/** Relative to a norm. The engine's f32 against double precision; a wrong formula is off by percents. */
const tolerance = 1e-4

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

describe.each(['tiny-llama3', 'tiny-qwen2', 'tiny-qwen3', 'tiny-gemma3'])('%s', (name) => {
  const reference = readReference<ArchitectureReference>(name)
  const gatherIds = Int32Array.from(reference.case.gatherIds)
  const loss = referenceLoss(reference.case)
  let model: EngineModel

  beforeAll(async () => {
    const file = path.join(folder.path, `${name}.gguf`)
    await writeTinyModel(file, reference.model)
    model = await engine.loadModel(file)
  })

  function referenceAdapter(): Adapter {
    const { rank, alpha, bScale } = reference
    return fillReferenceAdapter(model.createAdapter({ rank, alpha, seed: 1 }), bScale)
  }

  function request(adapter: Adapter): SequenceRequest & { adapter: Adapter } {
    const { tokens, responseStart, temperature } = reference.case
    return { tokens: Int32Array.from(tokens), responseStart, temperature, adapter }
  }

  it('all log-probabilities and the likeliest tokens agree with transformers', async () => {
    const { vocab } = reference.model
    const rows = reference.case.tokens.length - reference.case.responseStart
    const everyId = Int32Array.from({ length: rows * vocab }, (_, i) => i % vocab)
    const adapter = referenceAdapter()
    const score = await model.score({ ...request(adapter), gatherIds: everyId, topK: 4 })
    expect(relativeDifference(score.gathered, decodeFloats(reference.lines))).toBeLessThan(
      tolerance,
    )
    expect([...score.topIds]).toEqual(reference.topIds)
  })

  it('the loss and the gradient of every pair agree with transformers', async () => {
    const adapter = referenceAdapter()
    const gradients = model.createGradients(adapter)
    const found = await model.backward({ ...request(adapter), gatherIds, loss, gradients })
    expect(Math.abs(found.loss / reference.loss - 1)).toBeLessThan(tolerance)
    for (const half of halvesOf(adapter, gradients.tensors)) {
      const expected = decodeFloats(reference.gradients[half.name] ?? '')
      expect(relativeDifference(half.values, expected), half.name).toBeLessThan(tolerance)
    }
  })

  it('the divergence from the base and its gradients agree with transformers', async () => {
    const adapter = referenceAdapter()
    const gradients = model.createGradients(adapter)
    const plain = { ...request(adapter), temperature: 1 }
    const baseHidden = await model.hidden({ ...plain, adapter: null })
    const values = await model.kl({ ...plain, baseHidden })
    expect(relativeDifference(values, reference.kl)).toBeLessThan(tolerance)
    await model.klBackward({ ...plain, baseHidden, weight: 1, gradients })
    for (const half of halvesOf(adapter, gradients.tensors)) {
      const expected = reference.klGradients[half.name] ?? []
      expect(projectedDifference(half.name, half.values, expected), half.name).toBeLessThan(
        tolerance,
      )
    }
  })

  it('ten AdamW updates follow the path of PyTorch', async () => {
    const adapter = referenceAdapter()
    const before = halvesOf(referenceAdapter())
    const optimiser = adamw(adapter)
    const { learningRate, losses, norms, change } = reference.adamw
    const scale = Math.max(...losses.map(Math.abs))
    for (const [step, expectedLoss] of losses.entries()) {
      const gradients = model.createGradients(adapter)
      const result = await model.backward({ ...request(adapter), gatherIds, loss, gradients })
      const { norm } = optimiser.step(gradients, { learningRate })
      expect(Math.abs(result.loss - expectedLoss) / scale, `loss ${step}`).toBeLessThan(tolerance)
      expect(Math.abs(norm / (norms[step] ?? NaN) - 1), `norm ${step}`).toBeLessThan(tolerance)
    }
    for (const [i, half] of halvesOf(adapter).entries()) {
      const moved = half.values.map((value, at) => value - (before[i]?.values[at] ?? NaN))
      // Adam divides by the gradient's size, so numbers near zero, where rounding counts, move as far as others.
      expect(
        projectedDifference(half.name, moved, change[half.name] ?? []),
        half.name,
      ).toBeLessThan(1e-2)
    }
  })

  it('one and two threads give the same bytes', async () => {
    const run = async (threads: number): Promise<Buffer> => {
      engine.setThreads(threads)
      const adapter = referenceAdapter()
      const gradients = model.createGradients(adapter)
      await model.backward({ ...request(adapter), gatherIds, loss, gradients })
      const halves = halvesOf(adapter, gradients.tensors)
      return Buffer.concat(halves.map(({ values }) => Buffer.from(values.buffer)))
    }
    const two = await run(2)
    const one = await run(1)
    expect(one.equals(two)).toBe(true)
  })

  it('values computed again instead of kept give the same bytes', async () => {
    const run = async (of: EngineModel): Promise<Buffer> => {
      const adapter = referenceAdapter()
      const gradients = of.createGradients(adapter)
      await of.backward({ ...request(adapter), gatherIds, loss, gradients })
      const halves = halvesOf(adapter, gradients.tensors)
      return Buffer.concat(halves.map(({ values }) => Buffer.from(values.buffer)))
    }
    await using frugal = await openEngine({ threads: 1, keptBytes: 0 })
    await using copy = await frugal.loadModel(path.join(folder.path, `${name}.gguf`))
    expect((await run(copy)).equals(await run(model))).toBe(true)
  })

  it('node-llama-cpp serves the same probabilities to 0.005 nat, with and without an adapter', async () => {
    const adapter = referenceAdapter()
    const adapterPath = path.join(folder.path, `${name}-adapter.gguf`)
    await writeAdapter(adapterPath, adapter, { architecture: model.info.architecture })
    const modelPath = path.join(folder.path, `${name}.gguf`)
    const tokens = Int32Array.from(reference.case.tokens)
    for (const own of [adapter, null]) {
      const lora = own === null ? null : adapterPath
      const served = await servedLogProbs({ modelPath, adapterPath: lora, tokens })
      const call = { tokens, responseStart: 1, temperature: 1, adapter: own }
      const { sampled } = await model.score(call)
      const gaps = served.map((value, i) => Math.abs((sampled[i] ?? NaN) - value))
      expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeLessThan(0.005)
    }
  })
})
