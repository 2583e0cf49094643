// Compares a device with the CPU on a small random model: log-probabilities, the gradients of a loss and those of a
// divergence, in sizes that reach every branch of the graphs (several attention blocks, padding, a last odd chunk of
// the head). The numbers of the loss are as small as those of a long reply.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError } from '../../../shared/errors.ts'
import type { Runtime } from '../ffi/index.ts'
import { LlamaModel } from '../nn/model.ts'
import { seededRandom, type RandomSource } from '../random.ts'
import type { AdapterGradients, EngineModel, GatheredLoss } from '../types.ts'
import { scaleGradients } from './scaled-model.ts'
import { testModel, writeTestModel } from './test-model.ts'

/** ‖device − CPU‖ / ‖CPU‖. */
export interface Differences {
  /** Of all log-probabilities, nats. */
  readonly logProbs: number
  /** The largest of any tensor of the adapter. */
  readonly gradients: number
}

/**
 * Devices round the factors of products to f16 or TF32 (11 bits: 2.8e-4 root mean square) and sum in f32; the longest
 * chain here has some 30 products, so independent errors add up to about 30^½ · 4e-4 = 2e-3 in a gradient. Measured
 * with faults put in: an operator whose result is off by 1% moves the worst gradient by 1.0e-2 to 1.6e-1, and a wrong
 * stride, a missing term or a row left out gives more than 5e-2. Log-probabilities stand behind half as many products
 * and are dominated by their mean of −5 nats.
 */
export const bounds: Differences = { logProbs: 2e-3, gradients: 1e-2 }

/** Null, or in what way the device is not good enough. */
export function judge({ logProbs, gradients }: Differences): string | null {
  const facts = [
    logProbs <= bounds.logProbs ? null : `log-probabilities by ${share(logProbs)}`,
    gradients <= bounds.gradients ? null : `gradients by ${share(gradients)}`,
  ].filter((fact) => fact !== null)
  return facts.length === 0 ? null : `its results differ from the CPU's: ${facts.join(', ')}`
}

function share(value: number): string {
  return Number.isFinite(value) ? `${(100 * value).toPrecision(2)}%` : 'more than any number'
}

/** Runs the same calls on both; what fails on the CPU too is an error. */
export async function compareWithCpu(
  device: Runtime,
  cpu: Runtime,
  options: { readonly threads: number },
): Promise<Differences> {
  const folder = await mkdtemp(path.join(tmpdir(), 'hone-device-'))
  try {
    const file = path.join(folder, 'test.gguf')
    await writeTestModel(file, seededRandom(11))
    const expected = await resultsOf(cpu, file, options)
    const found = await resultsOf(device, file, options)
    return {
      logProbs: relativeDifference(found.logProbs, expected.logProbs),
      gradients: Math.max(
        ...expected.gradients.map((values, i) =>
          relativeDifference(found.gradients[i] ?? new Float32Array(0), values),
        ),
      ),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Results {
  readonly logProbs: Float32Array
  readonly gradients: readonly Float32Array[]
}

/** Two tokens more than a multiple of 16, five attention blocks; the reply is longer than one chunk of the head. */
const tokens = 562
const responseStart = 411
const idsPerRow = 3

async function resultsOf(
  runtime: Runtime,
  file: string,
  { threads }: { readonly threads: number },
): Promise<Results> {
  const host = {
    runtime,
    kernels: null,
    threads: () => threads,
    keptBytes: 0,
    availableBytes: () => runtime.freeBytes(),
    onDispose: () => undefined,
  }
  await using plain = new LlamaModel(host, file)
  const model = runtime.device === 'cpu' ? plain : scaleGradients(plain)
  return await runCalls(model, seededRandom(12))
}

async function runCalls(model: EngineModel, random: RandomSource): Promise<Results> {
  const ids = (count: number): Int32Array =>
    Int32Array.from({ length: count }, () => Math.floor(random.uniform() * testModel.vocabulary))
  const adapter = model.createAdapter({ rank: 8, alpha: 16, seed: 13 })
  for (const { b } of adapter.tensors) b.forEach((_, i) => (b[i] = random.normal() * 0.1))
  const request = { tokens: ids(tokens), responseStart, temperature: 1, adapter }
  const gatherIds = ids((tokens - responseStart) * idsPerRow)
  const loss = randomLoss(random, gatherIds.length)
  const [first, second] = [model.createGradients(adapter), model.createGradients(adapter)]
  const { gathered } = await model.backward({ ...request, gatherIds, loss, gradients: first })
  const { sampled } = await model.score(request)
  const baseHidden = await model.hidden({ ...request, adapter: null })
  await model.klBackward({ ...request, baseHidden, weight: 0.1, gradients: second })
  const flat = ({ tensors }: AdapterGradients): Float32Array[] =>
    tensors.flatMap(({ a, b }) => [a, b])
  return {
    logProbs: Float32Array.of(...gathered, ...sampled),
    gradients: [...flat(first), ...flat(second)],
  }
}

/** A linear loss whose gradient is that of a mean over positions. */
function randomLoss(random: RandomSource, count: number): GatheredLoss {
  const weights = Float32Array.from({ length: count }, () => random.normal() / count)
  return (logProbs) => ({
    loss: weights.reduce((sum, weight, i) => sum + weight * (logProbs[i] ?? NaN), 0),
    gradient: weights,
  })
}

function relativeDifference(found: Float32Array, expected: Float32Array): number {
  if (found.length !== expected.length)
    throw new AppError('internal', 'the results differ in length')
  let [difference, norm] = [0, 0]
  expected.forEach((value, i) => {
    difference += ((found[i] ?? NaN) - value) ** 2
    norm += value ** 2
  })
  // Not a number compares as larger than any bound.
  const relative = Math.sqrt(difference / norm)
  return Number.isNaN(relative) ? Infinity : relative
}
