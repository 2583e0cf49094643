// A pass on our kernels, from token ids to the gradients of every pair.
import { Graph, ops, type KernelCall, type Slot } from '../../ffi/index.ts'
import type { Adapter, AdapterGradients } from '../../types.ts'
import { placesOf, type Batch } from '../batch.ts'
import { addPairGradients } from '../collect.ts'
import type { LayerAttention, ModelConfig } from '../config.ts'
import type { Executor, GatherRequest, HeadScores } from '../executor.ts'
import type { ModelWeights, PackedTables, Work } from '../weights.ts'
import { rowsOf } from '../ops/places.ts'
import { nativeKl, nativeScores, nativeScoresBackward, type NativeHead } from './head.ts'
import { nativeBackward, nativeForward, type NativeLayerCall } from './layer.ts'
import type { NativePlan, View } from './plan.ts'

export interface NativeCall {
  readonly work: Work
  readonly info: ModelConfig
  readonly weights: ModelWeights
  readonly head: PackedTables
  readonly plan: NativePlan
  readonly batch: Batch
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

  async forward(): Promise<void> {
    const { plan } = this.#call
    this.#embed()
    for (let layer = 0; layer < plan.layers.length; layer += 1) await this.#runLayer(layer)
    await this.#graph((g) => {
      for (const { first, place, count } of this.#rows()) {
        const norm = this.#outputNorm(g, first, count)
        g.into(rowsOf(plan.hidden, place, count), ops.kernelNorm(g, this.#kernels, norm))
      }
    })
  }

  #embed(): void {
    const { plan, work, info, batch, head } = this.#call
    using g = new Graph(work.runtime)
    const factors = this.#frequencyFactors(g)
    for (const { attention, places, table } of plan.views) {
      work.runtime.write(g.leaf(places), placesOf(batch, attention.window))
      const angles = angleTable(batch.positions, { ...attention, size: info.headSize, factors })
      work.runtime.write(g.leaf(table), angles)
    }
    if (head.embedding === null) throw new Error('the embeddings were not loaded')
    const embedded = head.embedding.of(batch.tokens) // [C, T]
    const { embeddingScale } = info
    const scaled = embeddingScale === 1 ? embedded : embedded.map((v) => v * embeddingScale)
    work.runtime.write(g.leaf(at(plan.layers, 0).x), scaled)
  }

  /** Divisors of the rotary frequencies, [D / 2]. */
  #frequencyFactors(g: Graph): Float32Array | null {
    const { weights, work } = this.#call
    if (weights.frequencyFactors === null) return null
    const leaf = g.leaf(weights.frequencyFactors)
    return work.runtime.read(leaf, new Float32Array(leaf.shape[0]))
  }

  /** Rows of each sequence in the batch, and their place among all response positions. */
  *#rows(): Generator<{ readonly first: number; readonly place: number; readonly count: number }> {
    let place = 0
    for (const { first, count } of this.#call.batch.rows) {
      yield { first, place, count }
      place += count
    }
  }

  #outputNorm(g: Graph, first: number, count: number) {
    const { plan, weights, info } = this.#call
    const x = ops.viewRows(g, g.leaf(plan.final), [first, count])
    return { x, weight: g.leaf(weights.outputNorm), epsilon: info.normEpsilon }
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
      view: viewOf(plan, at(info.attention, layer)),
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
      for (const { first, place, count } of this.#rows()) {
        const dy = g.leaf(rowsOf(backward.dHidden, place, count))
        const dx = ops.kernelNormBack(g, this.#kernels, {
          ...this.#outputNorm(g, first, count),
          dy,
        })
        g.into(rowsOf(backward.dy, first, count), dx)
      }
    })
    for (let layer = plan.layers.length - 1; layer >= 0; layer -= 1) {
      // The layer's own values were overwritten by the layers above it.
      if (layer < plan.recomputed) await this.#runLayer(layer)
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

function viewOf(plan: NativePlan, attention: LayerAttention): View {
  const view = plan.views.find((one) => one.attention === attention)
  if (view === undefined) throw new Error('a layer has no view')
  return view
}

/** Cosines, then sines of position · scale · base^(−2i / D) / factor_i, [D, T]. */
function angleTable(
  positions: Int32Array,
  at: LayerAttention & { readonly size: number; readonly factors: Float32Array | null },
): Float32Array {
  const { size, factors, ropeBase, ropeScale } = at
  const half = size / 2
  const table = new Float32Array(size * positions.length)
  for (let i = 0; i < half; i += 1) {
    const frequency = (ropeScale * ropeBase ** ((-2 * i) / size)) / (factors?.[i] ?? 1)
    positions.forEach((position, t) => {
      table[t * size + i] = Math.cos(position * frequency)
      table[t * size + half + i] = Math.sin(position * frequency)
    })
  }
  return table
}

function at<T>(items: readonly T[], index: number): T {
  const found = items[index]
  if (found === undefined) throw new Error(`there is no layer ${index}`)
  return found
}
