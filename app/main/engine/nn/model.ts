// A loaded model: owns the native memory and runs one call at a time.
import { AppError } from '../../../shared/errors.ts'
import { readAdapter } from '../adapter-file.ts'
import { Allocator, Arena, Graph, type Kernels, type Runtime, type Slot } from '../ffi/index.ts'
import type * as api from '../types.ts'
import { checkAdapter, checkGradients, createAdapter, createGradients } from './adapter.ts'
import { gatheredBackward, headKl, headRows, headScores, type HeadCall } from './head.ts'
import type { ModelConfig } from './config.ts'
import { createPacer } from './pacer.ts'
import { backwardPass, forwardPass, type Pass } from './passes.ts'
import { planCall } from './plan.ts'
import { checkGatherIds, checkLength, checkSequence, checkTopK } from './requests.ts'
import { WeightStore } from './weight-store.ts'
import type { Work } from './weights.ts'

export interface ModelHost {
  readonly runtime: Runtime
  /** Null = f32 on ggml. */
  readonly kernels: Kernels | null
  /** Threads for calls without a yield point. */
  readonly threads: () => number
  readonly keptBytes: number
  readonly onDispose: (model: LlamaModel) => void
}

/** What a call needs besides the plain forward pass. */
interface CallNeeds {
  readonly idsPerRow: number
  readonly gradient: boolean
  readonly baseHidden: boolean
}

interface OpenCall {
  readonly pass: Pass
  readonly head: HeadCall
  readonly baseHidden: Slot | null // [C, R]
}

export class LlamaModel implements api.EngineModel {
  readonly info: ModelConfig
  readonly #host: ModelHost
  readonly #store: WeightStore
  readonly #arena: Arena
  readonly #allocator: Allocator
  #tail: Promise<unknown> = Promise.resolve()
  #disposed = false

  constructor(host: ModelHost, path: string) {
    this.#host = host
    this.#store = new WeightStore(host.runtime, host.kernels, path)
    this.#arena = new Arena(host.runtime)
    this.#allocator = new Allocator(host.runtime)
    this.info = this.#store.info
  }

  createAdapter(options: {
    readonly rank: number
    readonly alpha: number
    readonly seed: number
  }): api.Adapter {
    return createAdapter(this.info, options)
  }

  async readAdapter(path: string): Promise<api.Adapter> {
    return readAdapter(path, this.info)
  }

  createGradients(adapter: api.Adapter): api.AdapterGradients {
    return createGradients(adapter)
  }

  async score(request: api.ScoreRequest): Promise<api.Score> {
    checkSequence(this.info, request)
    const R = responseLength(request)
    const extra = request.gatherIds ?? new Int32Array(0)
    const M = checkGatherIds(this.info, extra, R)
    const topK = request.topK ?? 0
    checkTopK(this.info, topK)
    // Each row looks up the sampled token and then the caller's ids.
    const ids = new Int32Array(R * (M + 1))
    for (let row = 0; row < R; row += 1) {
      ids[row * (M + 1)] = request.tokens[request.responseStart + row] ?? 0
      ids.set(extra.subarray(row * M, (row + 1) * M), row * (M + 1) + 1)
    }
    const needs = { idsPerRow: M + 1, gradient: false, baseHidden: false }
    return this.#call(request, needs, async ({ pass, head }) => {
      await forwardPass(pass, request.tokens)
      const scores = await headScores(head, { ids, idsPerRow: M + 1, topK })
      const gathered = new Float32Array(R * M)
      for (let row = 0; row < R; row += 1) {
        const start = row * (M + 1)
        gathered.set(scores.gathered.subarray(start + 1, start + M + 1), row * M)
      }
      const sampled = Float32Array.from(
        { length: R },
        (_, row) => scores.gathered[row * (M + 1)] ?? NaN,
      )
      return { sampled, gathered, topIds: scores.topIds, topLogProbs: scores.topLogProbs }
    })
  }

  async hidden(request: api.SequenceRequest): Promise<Float32Array> {
    checkSequence(this.info, request)
    const needs = { idsPerRow: 0, gradient: false, baseHidden: false }
    return this.#call(request, needs, async ({ pass }) => {
      await forwardPass(pass, request.tokens)
      using g = new Graph(this.#host.runtime)
      const size = this.info.width * responseLength(request)
      return this.#host.runtime.read(g.leaf(pass.plan.hidden), new Float32Array(size))
    })
  }

  async backward(
    request: api.BackwardRequest,
  ): Promise<{ readonly loss: number; readonly gathered: Float32Array }> {
    checkSequence(this.info, request)
    const ids = request.gatherIds
    const M = checkGatherIds(this.info, ids, responseLength(request))
    checkGradients(request.adapter, request.gradients)
    const needs = { idsPerRow: M, gradient: true, baseHidden: false }
    return this.#call(request, needs, async ({ pass, head }) => {
      await forwardPass(pass, request.tokens)
      const { gathered } = await headScores(head, { ids, idsPerRow: M, topK: 0 })
      const { loss, gradient } = request.loss(gathered)
      checkLength("the loss's gradient", gradient.length, gathered.length)
      const output = outputOf(pass)
      await gatheredBackward(head, { ids, idsPerRow: M, gradient, output })
      await backwardPass(pass, request.adapter, request.gradients)
      return { loss, gathered }
    })
  }

  async kl(request: api.KlRequest): Promise<Float32Array> {
    checkSequence(this.info, request)
    const needs = { idsPerRow: 0, gradient: false, baseHidden: true }
    return this.#call(request, needs, async ({ pass, head, baseHidden }) => {
      await forwardPass(pass, request.tokens)
      const base = this.#writeBaseHidden(baseHidden, request)
      return headKl(head, { baseHidden: base, backward: null })
    })
  }

  async klBackward(request: api.KlBackwardRequest): Promise<{ readonly kl: number }> {
    checkSequence(this.info, request)
    checkGradients(request.adapter, request.gradients)
    const R = responseLength(request)
    const needs = { idsPerRow: 0, gradient: true, baseHidden: true }
    return this.#call(request, needs, async ({ pass, head, baseHidden }) => {
      await forwardPass(pass, request.tokens)
      const base = this.#writeBaseHidden(baseHidden, request)
      const backward = { factor: request.weight / R, output: outputOf(pass) }
      const values = await headKl(head, { baseHidden: base, backward })
      await backwardPass(pass, request.adapter, request.gradients)
      return { kl: values.reduce((sum, value) => sum + value, 0) / R }
    })
  }

  #writeBaseHidden(slot: Slot | null, request: api.KlRequest): Slot {
    if (slot === null) throw new Error('the plan has no room for the base hidden states')
    const expected = this.info.width * responseLength(request)
    checkLength('baseHidden', request.baseHidden.length, expected)
    using g = new Graph(this.#host.runtime)
    this.#host.runtime.write(g.leaf(slot), request.baseHidden)
    return slot
  }

  /** Waits for earlier calls, prepares weights and memory, then runs `body`. */
  async #call<T>(
    request: api.SequenceRequest,
    needs: CallNeeds,
    body: (call: OpenCall) => Promise<T>,
  ): Promise<T> {
    if (request.adapter !== null) checkAdapter(this.info, request.adapter)
    return this.#inTurn(async () => body(await this.#open(request, needs)))
  }

  async #open(request: api.SequenceRequest, needs: CallNeeds): Promise<OpenCall> {
    const { runtime } = this.#host
    const pacer = createPacer(runtime, {
      threads: this.#host.threads(),
      yieldPoint: request.yieldPoint,
    })
    const work: Work = { runtime, allocator: this.#allocator, pacer }
    const { adapter } = request
    const weights = await this.#store.prepare(work, { adapter, gradient: needs.gradient })
    const arena = this.#arena
    const plan = planCall(arena, {
      info: this.info,
      weights,
      tokenCount: request.tokens.length,
      responseStart: request.responseStart,
      withBackward: needs.gradient,
      keptBytes: this.#host.keptBytes,
    })
    const rows = Math.min(plan.R, headRows(this.info.vocabulary))
    const M = needs.idsPerRow
    const scratch = {
      rows,
      logits: arena.plan([this.info.vocabulary, rows]),
      ids: arena.plan([Math.max(1, M), rows], 'i32'),
      factors: arena.plan([M + 1, rows]),
    }
    const baseHidden = needs.baseHidden ? arena.plan([this.info.width, plan.R]) : null
    arena.commit(`${request.tokens.length} tokens`)
    const { hidden } = plan
    const head = { work, weights, hidden, temperature: request.temperature, scratch }
    return { pass: { work, info: this.info, weights, plan, adapter }, head, baseHidden }
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      if (this.#disposed) throw new AppError('unavailable', 'the model was closed')
      return task()
    })
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return
    this.#disposed = true
    await this.#tail
    this.#store[Symbol.dispose]()
    this.#arena[Symbol.dispose]()
    this.#allocator[Symbol.dispose]()
    this.#host.onDispose(this)
  }
}

function responseLength(request: api.SequenceRequest): number {
  return request.tokens.length - request.responseStart
}

function outputOf(pass: Pass): Slot {
  if (pass.plan.backward === null) throw new Error('the plan has no room for a backward pass')
  return pass.plan.backward.dHidden
}
