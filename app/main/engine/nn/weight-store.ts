// Owns a model's frozen weights in native memory and keeps them ready for a call: enough adapter columns, the
// right adapter in them, transposed copies where a gradient is asked for.
import { Arena, type ArenaPart, type Kernels, type Runtime } from '../ffi/index.ts'
import { parseGguf } from '../gguf/reader.ts'
import { fileSource } from '../gguf/source.ts'
import type { Adapter } from '../types.ts'
import { paddedRankOf, uploadAdapter } from './adapter.ts'
import { readModelInfo, type ModelConfig } from './config.ts'
import { ensureRoom } from './memory.ts'
import {
  fillTransposed,
  loadWeights,
  planTransposed,
  planWeights,
  type ModelWeights,
  type Work,
} from './weights.ts'

/** Room for an adapter's columns when none was seen yet. */
const defaultPaddedRank = 16

export interface WeightHost {
  readonly runtime: Runtime
  /** Null = f32 on ggml. */
  readonly kernels: Kernels | null
  readonly availableBytes: () => number
}

export class WeightStore implements Disposable {
  readonly info: ModelConfig
  readonly #runtime: Runtime
  readonly #kernels: Kernels | null
  readonly #availableBytes: () => number
  readonly #path: string
  readonly #stored: Arena
  readonly #copies: Arena
  #weights: ModelWeights
  #uploaded: { readonly adapter: Adapter; readonly revision: number } | null = null

  /** With kernels the weights are packed for them, without they are f32 for ggml. */
  constructor(host: WeightHost, path: string) {
    this.#runtime = host.runtime
    this.#kernels = host.kernels
    this.#availableBytes = host.availableBytes
    this.#path = path
    using bytes = fileSource(path)
    this.info = readModelInfo(parseGguf(bytes))
    this.#stored = new Arena(host.runtime)
    this.#copies = new Arena(host.runtime)
    try {
      this.#weights = this.#load(defaultPaddedRank)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /** Weights ready for a call with this adapter (null = base) and, where asked, for its gradient. */
  async prepare(
    work: Work,
    want: { readonly adapter: Adapter | null; readonly gradient: boolean },
  ): Promise<ModelWeights> {
    const { adapter } = want
    if (adapter !== null && adapter.rank > this.#weights.paddedRank) {
      this.#weights = this.#load(paddedRankOf(adapter.rank))
    }
    if (want.gradient && !hasTransposed(this.#weights)) await this.#transpose(work)
    if (adapter !== null) await this.#upload(work, adapter)
    return this.#weights
  }

  /** Memory of weights and transposed copies with room for a rank, and how much of it is held. */
  sizes(rank: number): { readonly parts: ArenaPart[]; readonly heldBytes: number } {
    const paddedRank = Math.max(this.#weights.paddedRank, paddedRankOf(rank))
    using measure = new Arena(this.#runtime)
    measure.section('weights')
    const weights = planWeights(measure, this.info, { paddedRank, kernels: this.#kernels })
    measure.section('transposed weights')
    planTransposed(measure, weights)
    return { parts: measure.parts(), heldBytes: this.#stored.held + this.#copies.held }
  }

  get weights(): ModelWeights {
    return this.#weights
  }

  #load(paddedRank: number): ModelWeights {
    this.#uploaded = null
    using bytes = fileSource(this.#path)
    const file = parseGguf(bytes)
    const config = readModelInfo(file)
    this.#stored.reset()
    this.#stored.section('weights')
    const weights = planWeights(this.#stored, this.info, { paddedRank, kernels: this.#kernels })
    ensureRoom(this.#stored, "the model's weights", this.#availableBytes())
    this.#stored.commit()
    loadWeights(this.#runtime, { file, bytes, config }, weights)
    return weights
  }

  async #transpose(work: Work): Promise<void> {
    this.#uploaded = null
    this.#copies.reset()
    this.#copies.section('transposed weights')
    const weights = planTransposed(this.#copies, this.#weights)
    ensureRoom(this.#copies, 'the transposed weights', this.#availableBytes())
    this.#copies.commit()
    await fillTransposed(work, weights)
    this.#weights = weights
  }

  async #upload(work: Work, adapter: Adapter): Promise<void> {
    const current = this.#uploaded
    if (current?.adapter === adapter && current.revision === adapter.revision) return
    // Cleared first: an abandoned upload must not pass for a finished one.
    this.#uploaded = null
    const { revision } = adapter
    await uploadAdapter(work, this.#weights, adapter)
    this.#uploaded = { adapter, revision }
  }

  [Symbol.dispose](): void {
    this.#stored[Symbol.dispose]()
    this.#copies[Symbol.dispose]()
  }
}

function hasTransposed(weights: ModelWeights): boolean {
  return weights.layers.every((layer) => layer.qkv.factors.transposed !== null)
}
