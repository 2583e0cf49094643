// A call on our kernels, from token ids to the gradients of every pair.
import { Graph, ops, type KernelCall, type Slot } from '../../ffi/index.ts'
import type { Adapter, AdapterGradients, ModelInfo } from '../../types.ts'
import { addPairGradients } from '../collect.ts'
import type { Executor, GatherRequest, HeadScores } from '../executor.ts'
import type { ModelWeights, PackedHead, Work } from '../weights.ts'
import { nativeKl, nativeScores, nativeScoresBackward, type NativeHead } from './head.ts'
import { nativeBackward, nativeForward, type NativeLayerCall } from './layer.ts'
import type { NativePlan } from './plan.ts'

export interface NativeCall {
  readonly work: Work
  readonly info: ModelInfo
  readonly weights: ModelWeights
  readonly head: PackedHead
  readonly plan: NativePlan
  readonly adapter: Adapter | null
  readonly temperature: number
  /** Where the base's hidden states go, [C, R]. */
  readonly baseHidden: Slot | null
}

export class NativeExecutor implements Executor {
  readonly #call: NativeCall
  readonly #kernels: KernelCall
  #logZ: Float64Array | null = null

  constructor(call: NativeCall) {
    this.#call = call
    this.#kernels = { kernels: call.head.kernels, scratch: call.plan.shared.scratch }
  }

  async forward(tokens: Int32Array): Promise<void> {
    const { plan, weights, info } = this.#call
    await this.#embed(tokens)
    for (let layer = 0; layer < plan.layers.length; layer += 1) await this.#runLayer(layer)
    await this.#graph((g) => {
      const x = ops.viewRows(g, g.leaf(plan.final), [plan.firstRow, plan.R])
      const norm = { x, weight: g.leaf(weights.outputNorm), epsilon: info.normEpsilon }
      g.into(plan.hidden, ops.kernelNorm(g, this.#kernels, norm))
    })
  }

  async #embed(tokens: Int32Array): Promise<void> {
    const { plan, weights, work, info } = this.#call
    await this.#graph((g) => {
      const ids = g.leaf(plan.tokens)
      const padded = new Int32Array(plan.T)
      padded.set(tokens.subarray(0, tokens.length - 1))
      work.runtime.write(ids, padded)
      work.runtime.write(g.leaf(plan.shared.places), placesOf(plan.T, tokens.length - 1))
      work.runtime.write(g.leaf(plan.shared.table), angleTable(info, plan.T))
      g.into(at(plan.layers, 0).x, ops.getRows(g, g.leaf(weights.embedding), ids)) // [C, T]
    })
  }

  async #runLayer(layer: number): Promise<void> {
    const { plan } = this.#call
    const output = plan.layers[layer + 1]?.x ?? plan.final
    await this.#graph((g) => nativeForward(g, this.#layer(layer), output))
  }

  #layer(layer: number): NativeLayerCall {
    const { info, weights, plan, adapter } = this.#call
    return {
      ...this.#kernels,
      info,
      weights: at(weights.layers, layer),
      slots: at(plan.layers, layer),
      shared: plan.shared,
      withAdapter: adapter !== null,
    }
  }

  async #graph(build: (g: Graph) => void): Promise<void> {
    const { work } = this.#call
    using g = new Graph(work.runtime)
    build(g)
    await g.run(work.allocator, work.pacer)
  }

  readHidden(): Float32Array {
    const { plan, work, info } = this.#call
    using g = new Graph(work.runtime)
    return work.runtime.read(g.leaf(plan.hidden), new Float32Array(info.width * plan.R))
  }

  #head(): NativeHead {
    const { plan, work, head, temperature } = this.#call
    return { ...this.#kernels, work, head, slots: plan.head, hidden: plan.hidden, temperature }
  }

  async scores(request: GatherRequest): Promise<HeadScores> {
    const { logZ, ...scores } = await nativeScores(this.#head(), request)
    this.#logZ = logZ
    return scores
  }

  async scoresBackward(request: GatherRequest, gradient: Float32Array): Promise<void> {
    const logZ = this.#logZ
    if (logZ === null) throw new Error('no scores were computed')
    const output = this.#backwardSlots().dHidden
    await nativeScoresBackward(this.#head(), request, { gradient, logZ, output })
  }

  async kl(baseHidden: Float32Array, factor: number | null): Promise<Float32Array> {
    const { work } = this.#call
    const slot = this.#call.baseHidden
    if (slot === null) throw new Error("the plan has no room for the base's states")
    {
      using g = new Graph(work.runtime)
      work.runtime.write(g.leaf(slot), baseHidden)
    }
    const backward = factor === null ? null : { factor, output: this.#backwardSlots().dHidden }
    return nativeKl(this.#head(), slot, backward)
  }

  #backwardSlots(): NonNullable<NativePlan['backward']> {
    const { backward } = this.#call.plan
    if (backward === null) throw new Error('the plan has no room for a backward pass')
    return backward
  }

  async backward(gradients: AdapterGradients): Promise<void> {
    const { plan, work, weights, info, adapter } = this.#call
    if (adapter === null) throw new Error('the base model has no gradients')
    const backward = this.#backwardSlots()
    await this.#graph((g) => {
      // Zero outside the response positions.
      work.runtime.write(g.leaf(backward.dy), new Float32Array(info.width * plan.T))
      const place = ops.viewRows(g, g.leaf(backward.dy), [plan.firstRow, plan.R])
      const x = ops.viewRows(g, g.leaf(plan.final), [plan.firstRow, plan.R])
      const norm = { x, weight: g.leaf(weights.outputNorm), epsilon: info.normEpsilon }
      const dy = g.leaf(backward.dHidden)
      ops.copyInto(g, ops.kernelNormBack(g, this.#kernels, { ...norm, dy }), place)
    })
    for (let layer = plan.layers.length - 1; layer >= 0; layer -= 1) {
      // The layer's own kept values were overwritten by the layers above it.
      if (!plan.keepsLayers && layer < plan.layers.length - 1) await this.#runLayer(layer)
      const needInput = layer > 0
      await this.#graph((g) => nativeBackward(g, this.#layer(layer), { backward, needInput }))
      addPairGradients(
        work.runtime,
        { weights: at(weights.layers, layer), ...backward },
        {
          ...{ adapter, gradients },
        },
      )
    }
  }
}

/** For each token the first one that it sees, and the end of a prefix; padding sees only itself. */
function placesOf(T: number, tokens: number): Int32Array {
  return Int32Array.from({ length: 2 * T }, (_, i) => {
    const t = Math.floor(i / 2)
    return i % 2 === 0 && t >= tokens ? t : 0
  })
}

/** Cosines, then sines of position · base^(−2i / D), [D, T]. */
function angleTable({ headSize, ropeBase }: ModelInfo, T: number): Float32Array {
  const half = headSize / 2
  const table = new Float32Array(headSize * T)
  for (let i = 0; i < half; i += 1) {
    const frequency = ropeBase ** ((-2 * i) / headSize)
    for (let t = 0; t < T; t += 1) {
      table[t * headSize + i] = Math.cos(t * frequency)
      table[t * headSize + half + i] = Math.sin(t * frequency)
    }
  }
  return table
}

function at<T>(items: readonly T[], index: number): T {
  const found = items[index]
  if (found === undefined) throw new Error(`there is no layer ${index}`)
  return found
}
