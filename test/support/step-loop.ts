// Training steps as a run does them, in a loop, with what must not grow noted after each.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { adamw, type Engine, type EngineModel } from '../../app/main/engine/index.ts'
import { createRandom } from '../../eval/random.ts'

export interface StepLoop {
  readonly engine: Engine
  readonly model: EngineModel
  readonly steps: number
  /** Steps before anything is compared: buffers grow to the longest sequence. */
  readonly warmUp: number
  /** Lengths of the sequences, in turn; half of each is the reply. */
  readonly lengths: readonly number[]
}

export interface Growth {
  /** Native objects after the warm-up and the different counts that came after later steps. */
  readonly handles: number
  readonly laterHandles: readonly number[]
  /** After a collection, at the end less after the warm-up: bytes of live JavaScript objects. */
  readonly heapBytes: number
  /** Likewise the process's memory beside V8's heap, whose young part grows to its limit whatever runs. */
  readonly nativeBytes: number
  /** Loss of the last step: NaN would mean that nothing was trained. */
  readonly lastLoss: number
}

export async function runSteps(options: StepLoop): Promise<Growth> {
  const { engine, model, steps, warmUp, lengths } = options
  const adapter = model.createAdapter({ rank: 4, alpha: 8, seed: 3 })
  const optimiser = adamw(adapter)
  const random = createRandom(17)
  const seen = new Set<number>()
  let before = { handles: 0, heap: 0, native: 0 }
  let lastLoss = NaN
  for (let step = 0; step < steps; step += 1) {
    if (step === warmUp) before = { handles: engine.liveHandles(), ...memory() }
    const length = lengths[step % lengths.length] ?? 8
    lastLoss = await oneStep({ model, adapter, optimiser, length, random })
    if (step >= warmUp) seen.add(engine.liveHandles())
  }
  const after = memory()
  return {
    handles: before.handles,
    laterHandles: [...seen],
    heapBytes: after.heap - before.heap,
    nativeBytes: after.native - before.native,
    lastLoss,
  }
}

/** Base scores, one backward pass, one pass of the anchor's divergence, one update. */
async function oneStep(step: {
  readonly model: EngineModel
  readonly adapter: ReturnType<EngineModel['createAdapter']>
  readonly optimiser: ReturnType<typeof adamw>
  readonly length: number
  readonly random: () => number
}): Promise<number> {
  const { model, adapter, optimiser, length, random } = step
  const vocabulary = model.info.vocabulary
  const tokens = Int32Array.from({ length }, () => Math.floor(random() * vocabulary))
  const responseStart = length / 2
  const rows = length - responseStart
  const sequence = { tokens, responseStart, temperature: 1 }
  const gradients = model.createGradients(adapter)
  await model.score({ ...sequence, adapter: null, topK: 4 })
  const { loss } = await model.backward({
    ...sequence,
    adapter,
    gradients,
    gatherIds: tokens.slice(responseStart),
    loss: (logProbs) => ({
      loss: -logProbs.reduce((sum, value) => sum + value, 0) / rows,
      gradient: new Float32Array(rows).fill(-1 / rows),
    }),
  })
  const baseHidden = await model.hidden({ ...sequence, adapter: null })
  await model.klBackward({ ...sequence, adapter, baseHidden, weight: 0.1, gradients })
  optimiser.step(gradients, { learningRate: 1e-4 })
  return loss
}

function memory(): { readonly heap: number; readonly native: number } {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, heapTotal, rss } = process.memoryUsage()
  return { heap: heapUsed, native: rss - heapTotal }
}
