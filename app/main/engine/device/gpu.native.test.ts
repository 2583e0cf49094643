// The tiny model on a real GPU against the recorded PyTorch reference, where there is one.
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
import { adamw, listDevices, openEngine } from '../index.ts'
import type { AdapterGradients, Engine, EngineModel } from '../types.ts'
import { bounds } from './compare.ts'

const reference = readReference<TinyReference>('tiny')
const gatherIds = Int32Array.from(reference.case.gatherIds)
const loss = referenceLoss(reference.case)
const gpus = (await listDevices()).filter(({ kind }) => kind !== 'cpu')
const usable = gpus.find(({ trains }) => trains)
const reasons = gpus.map(({ kind, name, reason }) => `${name ?? kind}: ${reason ?? ''}`).join('; ')

if (usable === undefined) it.skip(`no GPU that ggml can use here: ${reasons}`, () => undefined)

describe.skipIf(usable === undefined)('the tiny model on a GPU (skipped without one)', () => {
  let folder: TemporaryFolder
  let engine: Engine
  let model: EngineModel

  beforeAll(async () => {
    folder = await temporaryFolder()
    await writeTinyModel(path.join(folder.path, 'tiny.gguf'))
    engine = await openEngine({ threads: 1, device: usable?.kind ?? 'auto', precision: 'native' })
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

  function expectGradients(found: AdapterGradients, expected: Readonly<Record<string, string>>) {
    for (const { name, values } of halvesOf(requestOf().adapter, found.tensors)) {
      const difference = relativeDifference(values, decodeFloats(expected[name] ?? ''))
      expect(difference, name).toBeLessThan(bounds.gradients)
    }
  }

  it('is the device, without kernels for the CPU', () => {
    expect(engine.backend).toMatchObject({
      device: usable?.kind,
      deviceReason: null,
      kernels: null,
    })
  })

  it('log-probabilities and the likeliest tokens agree', async () => {
    const score = await model.score({ ...requestOf(), gatherIds, topK: 4 })
    expect(relativeDifference(score.gathered, reference.logProbs)).toBeLessThan(bounds.logProbs)
    expect([...score.topIds]).toEqual(reference.topIds)
  })

  it('the loss and the gradient of every pair agree', async () => {
    const request = requestOf()
    const gradients = model.createGradients(request.adapter)
    const result = await model.backward({ ...request, gatherIds, loss, gradients })
    expect(Math.abs(result.loss / reference.loss - 1)).toBeLessThan(bounds.logProbs)
    expectGradients(gradients, reference.gradients)
  })

  it('the divergence from the base and its gradients agree', async () => {
    const request = { ...requestOf(), temperature: 1 }
    const gradients = model.createGradients(request.adapter)
    const baseHidden = await model.hidden({ ...request, adapter: null })
    const { kl } = await model.klBackward({ ...request, baseHidden, weight: 1, gradients })
    const mean = reference.kl.reduce((sum, value) => sum + value, 0) / reference.kl.length
    expect(Math.abs(kl / mean - 1)).toBeLessThan(bounds.gradients)
    expectGradients(gradients, reference.klGradients)
  })

  it('ten AdamW updates lower the loss as the reference does', async () => {
    const request = requestOf()
    const optimiser = adamw(request.adapter)
    for (const expected of reference.adamw.losses) {
      const gradients = model.createGradients(request.adapter)
      const result = await model.backward({ ...request, gatherIds, loss, gradients })
      optimiser.step(gradients, { learningRate: reference.adamw.learningRate })
      expect(Math.abs(result.loss / expected - 1)).toBeLessThan(bounds.gradients)
    }
  })

  it('the same call gives the same bytes, and closing the model frees its memory', async () => {
    const copy = await engine.loadModel(path.join(folder.path, 'tiny.gguf'))
    const before = engine.liveHandles()
    const [first, second] = [await copy.score(requestOf()), await copy.score(requestOf())]
    expect([...first.sampled]).toEqual([...second.sampled])
    await copy[Symbol.asyncDispose]()
    expect(engine.liveHandles()).toBeLessThan(before)
  })
})
