// A larger model of another architecture and quantisation (Qwen2.5-Coder-0.5B, Q4_K_M) against PyTorch on the same
// (dequantised) weights, and against node-llama-cpp as a server. The file is too large to fetch for every run: HONE_SECOND_MODEL or .cache/models names it.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeF32Copy } from '../../../test/support/f32-copy.ts'
import { secondModelPath } from '../../../test/support/model.ts'
import {
  fillReferenceAdapter,
  halvesOf,
  projectedDifference,
  readReference,
  referenceLoss,
  relativeDifference,
  type ModelReference,
} from '../../../test/support/numerics.ts'
import { sampleReplies } from '../../../test/support/served-log-probs.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openEngine } from './index.ts'
import type { Engine, EngineModel } from './types.ts'

const modelPath = secondModelPath()
const reference = readReference<ModelReference>('second-model')
const tolerance = 1e-3
const minute = 60_000
const questions = [
  'Explain how a hash map finds an entry.',
  'Write a short story about a lighthouse keeper.',
  'Describe how rain forms over the sea.',
  'Write a function that merges two sorted lists, and its tests.',
]

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

describe.skipIf(modelPath === null)('the second model (skipped without its file)', () => {
  it(
    'log-probabilities, loss, divergence and the gradient of every pair agree with PyTorch',
    async () => {
      await using model = await engine.loadModel(modelPath ?? '')
      const request = requestOf(model)
      const { adapter } = request
      const gatherIds = Int32Array.from(reference.case.gatherIds)
      const score = await model.score({ ...request, gatherIds, topK: 4 })
      expect(relativeDifference(score.gathered, reference.logProbs)).toBeLessThan(tolerance)
      expect([...score.topIds]).toEqual(reference.topIds)
      const gradients = model.createGradients(adapter)
      const loss = referenceLoss(reference.case)
      const found = await model.backward({ ...request, gatherIds, loss, gradients })
      expect(Math.abs(found.loss / reference.loss - 1)).toBeLessThan(tolerance)
      const plain = { ...request, temperature: 1 }
      const baseHidden = await model.hidden({ ...plain, adapter: null })
      const klGradients = model.createGradients(adapter)
      await model.klBackward({ ...plain, baseHidden, weight: 1, gradients: klGradients })
      const kl = await model.kl({ ...plain, baseHidden })
      expect(relativeDifference(kl, reference.kl)).toBeLessThan(tolerance)
      for (const [sums, expected] of [
        [gradients, reference.gradients],
        [klGradients, reference.klGradients],
      ] as const) {
        const differences = halvesOf(adapter, sums.tensors).map(({ name, values }) => ({
          name,
          difference: projectedDifference(name, values, expected[name] ?? []),
        }))
        const worst = Math.max(...differences.map(({ difference }) => difference))
        process.stdout.write(`largest relative difference of a gradient: ${worst}\n`)
        expect(differences.filter(({ difference }) => !(difference < tolerance))).toEqual([])
      }
    },
    5 * minute,
  )

  it(
    'over two thousand sampled tokens the engine differs from the server by no more than it from itself',
    async () => {
      const replies = await sampleReplies({
        modelPath: modelPath ?? '',
        prompts: questions.map(chatPrompt),
        length: 512,
        rereadEvery: 64,
      })
      await using model = await engine.loadModel(modelPath ?? '')
      expect(model.info).toMatchObject({ architecture: 'qwen2', tiedHead: false })
      const gaps: number[] = []
      const noise: number[] = []
      for (const { tokens, responseStart, logProbs, reread } of replies) {
        const call = { tokens, responseStart, temperature: 1, adapter: null }
        const { sampled } = await model.score(call)
        logProbs.forEach((value, i) => gaps.push((sampled[i] ?? NaN) - value))
        reread.forEach((value, place) => noise.push(value - (logProbs[place] ?? NaN)))
      }
      expect(gaps.length).toBeGreaterThanOrEqual(2000)
      const serverNoise = average(noise.map(Math.abs))
      const found = {
        signed: average(gaps),
        absolute: average(gaps.map(Math.abs)),
        serverNoise,
        serverSigned: average(noise),
      }
      process.stdout.write(`engine − server, nat: ${JSON.stringify(found)}\n`)
      // A server that did not differ from itself would say nothing.
      expect(serverNoise).toBeGreaterThan(0)
      expect(Math.abs(found.signed)).toBeLessThan(serverNoise)
      expect(found.absolute).toBeLessThan(0.1)
    },
    10 * minute,
  )

  it(
    'an f32 copy of it is served with the engine’s log-probabilities to 0.005 nat',
    async () => {
      const copy = path.join(folder.path, 'copy.gguf')
      await writeF32Copy(modelPath ?? '', copy)
      const [reply] = await sampleReplies({
        modelPath: copy,
        prompts: [chatPrompt('Name the parts of a bicycle.')],
        length: 96,
        rereadEvery: 96,
      })
      if (reply === undefined) throw new Error('no reply was sampled')
      const { tokens, responseStart, logProbs } = reply
      await using model = await engine.loadModel(copy)
      const { sampled } = await model.score({
        tokens,
        responseStart,
        temperature: 1,
        adapter: null,
      })
      const gaps = logProbs.map((value, i) => Math.abs((sampled[i] ?? NaN) - value))
      process.stdout.write(`f32 copy, mean absolute nat: ${average(gaps)}\n`)
      expect(average(gaps)).toBeLessThan(0.005)
    },
    10 * minute,
  )
})

function requestOf(model: EngineModel) {
  const { rank, alpha, bScale } = reference
  const adapter = fillReferenceAdapter(model.createAdapter({ rank, alpha, seed: 1 }), bScale)
  const { tokens, responseStart, temperature } = reference.case
  return { tokens: Int32Array.from(tokens), responseStart, temperature, adapter }
}

function chatPrompt(text: string): string {
  return `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
