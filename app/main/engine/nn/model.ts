// A loaded llama-architecture model: owns the native memory and runs one call at a time.
import { AppError } from '../../../shared/errors.ts'
import { readAdapter } from '../adapter-file.ts'
import { Allocator, Arena, type Kernels, type Runtime } from '../ffi/index.ts'
import type * as api from '../types.ts'
import { checkAdapter, checkGradients, createAdapter, createGradients } from './adapter.ts'
import type { Executor } from './executor.ts'
import { headRows } from './head.ts'
import { NativeExecutor } from './native/executor.ts'
import { planNative } from './native/plan.ts'
import { createPacer } from './pacer.ts'
import { planCall } from './plan.ts'
import { PortableExecutor } from './portable-executor.ts'
import { checkGatherIds, checkLength, checkSequence, checkTopK } from './requests.ts'
import { WeightStore } from './weight-store.ts'
import type { ModelWeights, PackedHead, Work } from './weights.ts'

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
  readonly topK: number
  readonly gradient: boolean
  readonly baseHidden: boolean
}

interface OpenCall {
  readonly work: Work
  readonly weights: ModelWeights
  readonly request: api.SequenceRequest
  readonly needs: CallNeeds
}

export class LlamaModel implements api.EngineModel {
  readonly info: api.ModelInfo
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
    const gather = { ids, idsPerRow: M + 1, topK }
    const needs = { ...gather, gradient: false, baseHidden: false }
    return this.#call(request, needs, async (call) => {
      await call.forward(request.tokens)
      const scores = await call.scores(gather)
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
    const needs = { idsPerRow: 0, topK: 0, gradient: false, baseHidden: false }
    return this.#call(request, needs, async (call) => {
      await call.forward(request.tokens)
      return call.readHidden()
    })
  }

  async backward(
    request: api.BackwardRequest,
  ): Promise<{ readonly loss: number; readonly gathered: Float32Array }> {
    checkSequence(this.info, request)
    const ids = request.gatherIds
    const M = checkGatherIds(this.info, ids, responseLength(request))
    checkGradients(request.adapter, request.gradients)
    const gather = { ids, idsPerRow: M, topK: 0 }
    const needs = { ...gather, gradient: true, baseHidden: false }
    return this.#call(request, needs, async (call) => {
      await call.forward(request.tokens)
      const { gathered } = await call.scores(gather)
      const { loss, gradient } = request.loss(gathered)
      checkLength("the loss's gradient", gradient.length, gathered.length)
      await call.scoresBackward(gather, gradient)
      await call.backward(request.gradients)
      return { loss, gathered }
    })
  }

  async kl(request: api.KlRequest): Promise<Float32Array> {
    this.#checkKl(request)
    const needs = { idsPerRow: 0, topK: 0, gradient: false, baseHidden: true }
    return this.#call(request, needs, async (call) => {
      await call.forward(request.tokens)
      return call.kl(request.baseHidden, null)
    })
  }

  async klBackward(request: api.KlBackwardRequest): Promise<{ readonly kl: number }> {
    this.#checkKl(request)
    checkGradients(request.adapter, request.gradients)
    const R = responseLength(request)
    const needs = { idsPerRow: 0, topK: 0, gradient: true, baseHidden: true }
    return this.#call(request, needs, async (call) => {
      await call.forward(request.tokens)
      const values = await call.kl(request.baseHidden, request.weight / R)
      await call.backward(request.gradients)
      return { kl: values.reduce((sum, value) => sum + value, 0) / R }
    })
  }

  #checkKl(request: api.KlRequest): void {
    checkSequence(this.info, request)
    const expected = this.info.width * responseLength(request)
    checkLength('baseHidden', request.baseHidden.length, expected)
  }

  /** Waits for earlier calls, prepares weights and memory, then runs `body`. */
  async #call<T>(
    request: api.SequenceRequest,
    needs: CallNeeds,
    body: (call: Executor) => Promise<T>,
  ): Promise<T> {
    if (request.adapter !== null) checkAdapter(this.info, request.adapter)
    return this.#inTurn(async () => body(await this.#open(request, needs)))
  }

  async #open(request: api.SequenceRequest, needs: CallNeeds): Promise<Executor> {
    const { runtime } = this.#host
    const pacer = createPacer(runtime, {
      threads: this.#host.threads(),
      yieldPoint: request.yieldPoint,
    })
    const work: Work = { runtime, allocator: this.#allocator, pacer }
    const { adapter } = request
    const weights = await this.#store.prepare(work, { adapter, gradient: needs.gradient })
    const call = { work, weights, request, needs }
    const { packedHead } = weights
    return packedHead === null ? this.#openPortable(call) : this.#openNative(call, packedHead)
  }

  #openNative({ work, weights, request, needs }: OpenCall, head: PackedHead): Executor {
    const { info } = this
    const R = responseLength(request)
    this.#arena.reset()
    const plan = planNative(this.#arena, {
      ...needs,
      ...{ info, weights, kernels: head.kernels, keptBytes: this.#host.keptBytes },
      ...{ T: paddedLength(request), R, firstRow: request.responseStart - 1 },
      withBackward: needs.gradient,
    })
    const baseHidden = needs.baseHidden ? this.#arena.plan([info.width, R]) : null
    this.#arena.commit(`${request.tokens.length} tokens`)
    const { adapter, temperature } = request
    return new NativeExecutor({ work, info, weights, head, plan, adapter, temperature, baseHidden })
  }

  #openPortable({ work, weights, request, needs }: OpenCall): Executor {
    const arena = this.#arena
    const { info } = this
    const { adapter, temperature } = request
    const plan = planCall(arena, {
      info,
      weights,
      tokenCount: request.tokens.length,
      responseStart: request.responseStart,
      withBackward: needs.gradient,
      keptBytes: this.#host.keptBytes,
    })
    const rows = Math.min(plan.R, headRows(info.vocabulary))
    const M = needs.idsPerRow
    const scratch = {
      rows,
      logits: arena.plan([info.vocabulary, rows]),
      ids: arena.plan([Math.max(1, M), rows], 'i32'),
      factors: arena.plan([M + 1, rows]),
    }
    const baseHidden = needs.baseHidden ? arena.plan([info.width, plan.R]) : null
    arena.commit(`${request.tokens.length} tokens`)
    const head = { work, weights, hidden: plan.hidden, temperature, scratch }
    return new PortableExecutor({ pass: { work, info, weights, plan, adapter }, head, baseHidden })
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

/** ggml's fast products need inner sizes that are multiples of 16; padding lies after the last token. */
function paddedLength({ tokens }: api.SequenceRequest): number {
  return Math.ceil((tokens.length - 1) / 16) * 16
}
