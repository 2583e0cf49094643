// One training step as training does it: forward, the loss at the response positions, backward to the gradient of
// every LoRA pair; no optimiser. peer.py does the same with the same numbers.
import {
  gradientNorm,
  openEngine,
  type Adapter,
  type AdapterGradients,
  type BackwardRequest,
  type EngineModel,
} from '../app/main/engine/index.ts'
import type { StepReport } from './report-line.ts'

export const rank = 16
const alpha = 2 * rank

export interface StepOptions {
  readonly modelPath: string
  readonly precision: 'f32' | 'native'
  readonly threads: number
  /** Input tokens of a sample, T. */
  readonly tokens: number
  /** Positions with a loss, R. */
  readonly response: number
  /** Samples of one step. */
  readonly samples: number
  /** Whether the samples are given to the engine in one call, which may then share passes. */
  readonly together: boolean
  readonly steps: number
}

/** Loads the model and measures in this process, which should be a fresh one. */
export async function measureSteps(options: StepOptions): Promise<StepReport> {
  const { modelPath, precision, threads } = options
  await using engine = await openEngine({ precision, threads })
  await using model = await engine.loadModel(modelPath)
  const adapter = model.createAdapter({ rank, alpha, seed: 1 })
  fillAdapter(adapter)
  const gradients = model.createGradients(adapter)
  const requests = requestsOf(options, { model, adapter, gradients })
  const calls = callsOf(requests, options.together)
  const loadedBytes = peakBytes()
  const seconds: number[] = []
  let loss = NaN
  for (let step = 0; step <= options.steps; step += 1) {
    const started = performance.now()
    for (const { a, b } of gradients.tensors) [a, b].forEach((values) => values.fill(0))
    loss = 0
    for (const call of calls) {
      for (const result of await model.backwardAll(call)) loss += result.loss
    }
    seconds.push((performance.now() - started) / 1000)
  }
  return {
    // The first step also transposes weights and reserves memory.
    seconds: seconds.slice(1),
    loadedBytes,
    peakBytes: peakBytes(),
    loss,
    gradientNorm: gradientNorm(gradients.tensors.flatMap(({ a, b }) => [a, b])),
    kernels: engine.backend.kernels,
    kernelsReason: engine.backend.kernelsReason,
  }
}

/** The samples of each call of the engine: all of a step, or one after the other. */
function callsOf(
  requests: readonly BackwardRequest[],
  together: boolean,
): (readonly BackwardRequest[])[] {
  return together ? [requests] : requests.map((request) => [request])
}

function requestsOf(
  { tokens, response, samples }: StepOptions,
  at: {
    readonly model: EngineModel
    readonly adapter: Adapter
    readonly gradients: AdapterGradients
  },
): BackwardRequest[] {
  const { adapter, gradients } = at
  const responseStart = tokens + 1 - response
  return Array.from({ length: samples }, (_, sample) => {
    const ids = tokenIds(tokens + 1, { sample, vocabulary: at.model.info.vocabulary })
    const gatherIds = ids.slice(responseStart)
    const loss = meanLoss(response * samples)
    return { tokens: ids, responseStart, temperature: 1, adapter, gradients, gatherIds, loss }
  })
}

/** Cross-entropy, the mean over `count` positions of which each sample has a part. */
function meanLoss(count: number): BackwardRequest['loss'] {
  return (logProbs) => ({
    loss: logProbs.reduce((sum, value) => sum - value, 0) / count,
    gradient: new Float32Array(logProbs.length).fill(-1 / count),
  })
}

/** The same sequences as `token_ids` in peer.py. */
export function tokenIds(
  count: number,
  { sample, vocabulary }: { readonly sample: number; readonly vocabulary: number },
): Int32Array {
  const used = Math.min(vocabulary, 40_000)
  return Int32Array.from({ length: count }, (_, i) => ((i + 131 * sample) * 7919) % used)
}

/** The same numbers as `fill_adapter` in peer.py; zeros in B would spare neither side any work, but check less. */
export function fillAdapter(adapter: Adapter): void {
  for (const { a, b, inFeatures } of adapter.tensors) {
    a.forEach((_, i) => {
      a[i] = (((i * 7919) % 101) - 50) / 50 / Math.sqrt(inFeatures)
    })
    b.forEach((_, i) => {
      b[i] = ((((i % adapter.rank) * 37) % 17) - 8) / 2000
    })
  }
  adapter.revision += 1
}

/** Peak resident memory of this process; Node counts in KiB. */
function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}
