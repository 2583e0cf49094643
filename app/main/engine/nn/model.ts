// A loaded model: owns the native memory and runs one call at a time.
import { AppError } from '../../../shared/errors.ts'
import { readAdapter } from '../adapter-file.ts'
import { Allocator, Arena, type Kernels, type Runtime } from '../ffi/index.ts'
import type * as api from '../types.ts'
import {
  checkAdapter,
  checkGradients,
  createAdapter,
  createGradients,
  paddedRankOf,
} from './adapter.ts'
import { layOut, packsOf, type Batch, type Pack } from './batch.ts'
import type { Executor } from './executor.ts'
import {
  joinGathers,
  joinGradients,
  only,
  part,
  responseLength,
  sampledAndExtra,
  splitGathered,
  splitScores,
  type Part,
} from './gathers.ts'
import { memoryPlan } from './memory.ts'
import { NativeExecutor } from './native/executor.ts'
import type { ModelConfig } from './config.ts'
import { createPacer } from './pacer.ts'
import {
  measurePass,
  placePass,
  type NativePlaces,
  type PassPlace,
  type PortablePlaces,
} from './pass-plan.ts'
import { PortableExecutor } from './portable-executor.ts'
import {
  checkGatherIds,
  checkLength,
  checkMemoryRequest,
  checkSequence,
  checkTopK,
} from './requests.ts'
import { WeightStore } from './weight-store.ts'
import type { ModelWeights, Work } from './weights.ts'

/** Tokens of a batch that is only scored. */
const scoredTokens = 1024

/** A call's only sequence. */
const alone: Pack = { members: [0], prefix: 0 }

export interface ModelHost {
  readonly runtime: Runtime
  /** Null = f32 on ggml. */
  readonly kernels: Kernels | null
  /** Threads for calls without a yield point. */
  readonly threads: () => number
  readonly keptBytes: number
  readonly availableBytes: () => number
  readonly onDispose: (model: LlamaModel) => void
}

/** What a pass needs besides the plain forward. */
interface PassNeeds {
  readonly idsPerRow: number
  readonly topK: number
  readonly gradient: boolean
  readonly baseHidden: boolean
}

interface PassRequest {
  readonly pack: Pack
  /** Those that the pack's members count in. */
  readonly requests: readonly api.SequenceRequest[]
  readonly needs: PassNeeds
}

interface OpenPass {
  readonly work: Work
  readonly weights: ModelWeights
  /** One of the sequences, which share adapter and temperature. */
  readonly first: api.SequenceRequest
  readonly batch: Batch
  readonly places: NativePlaces | PortablePlaces
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
    this.#store = new WeightStore(host, path)
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
    return only(await this.scoreAll([request]))
  }

  async scoreAll(requests: readonly api.ScoreRequest[]): Promise<api.Score[]> {
    const gathers = requests.map((request) => {
      this.#check(request)
      checkTopK(this.info, request.topK ?? 0)
      return sampledAndExtra(this.info, request)
    })
    const scores: api.Score[] = []
    for (const pack of this.#packs(requests, scoredTokens)) {
      const parts = pack.members.map((i) => part(requests[i], gathers[i]))
      const gather = joinGathers(parts.map(({ gather }) => gather))
      const needs = { ...gather, gradient: false, baseHidden: false }
      const found = await this.#pass({ pack, requests, needs }, async (call) => {
        await call.forward()
        return call.scores(gather)
      })
      scores.push(...splitScores(found, { gather, parts }))
    }
    return scores
  }

  async hidden(request: api.SequenceRequest): Promise<Float32Array> {
    this.#check(request)
    const needs = { idsPerRow: 0, topK: 0, gradient: false, baseHidden: false }
    return this.#pass({ pack: alone, requests: [request], needs }, async (call) => {
      await call.forward()
      return call.readHidden()
    })
  }

  async backward(request: api.BackwardRequest): Promise<api.BackwardResult> {
    return only(await this.backwardAll([request]))
  }

  async backwardAll(requests: readonly api.BackwardRequest[]): Promise<api.BackwardResult[]> {
    const gathers = requests.map((request) => {
      this.#check(request)
      checkGradients(request.adapter, request.gradients)
      const idsPerRow = checkGatherIds(this.info, request.gatherIds, responseLength(request))
      return { ids: request.gatherIds, idsPerRow, topK: 0 }
    })
    const results: api.BackwardResult[] = []
    for (const pack of this.#packs(requests, this.#keptTokens())) {
      const parts = pack.members.map((i) => part(requests[i], gathers[i]))
      results.push(...(await this.#backwardPack(pack, requests, parts)))
    }
    return results
  }

  async #backwardPack(
    pack: Pack,
    requests: readonly api.BackwardRequest[],
    parts: readonly Part<api.BackwardRequest>[],
  ): Promise<api.BackwardResult[]> {
    const gather = joinGathers(parts.map((one) => one.gather))
    const needs = { ...gather, gradient: true, baseHidden: false }
    return this.#pass({ pack, requests, needs }, async (call) => {
      await call.forward()
      const { gathered } = await call.scores(gather)
      const results = splitGathered(gathered, { gather, parts }).map((logProbs, i) => {
        const { loss, gradient } = part(parts[i]?.request, parts[i]?.gather).request.loss(logProbs)
        checkLength("the loss's gradient", gradient.length, logProbs.length)
        return { loss, gradient, gathered: logProbs }
      })
      const gradients = results.map(({ gradient }) => gradient)
      await call.scoresBackward(gather, joinGradients(gradients, { gather, parts }))
      await call.backward(only(parts.slice(0, 1)).request.gradients)
      return results.map(({ loss, gathered: values }) => ({ loss, gathered: values }))
    })
  }

  async kl(request: api.KlRequest): Promise<Float32Array> {
    this.#checkKl(request)
    const needs = { idsPerRow: 0, topK: 0, gradient: false, baseHidden: true }
    return this.#pass({ pack: alone, requests: [request], needs }, async (call) => {
      await call.forward()
      return call.kl(request.baseHidden, null)
    })
  }

  async klBackward(request: api.KlBackwardRequest): Promise<{ readonly kl: number }> {
    this.#checkKl(request)
    checkGradients(request.adapter, request.gradients)
    const R = responseLength(request)
    const needs = { idsPerRow: 0, topK: 0, gradient: true, baseHidden: true }
    return this.#pass({ pack: alone, requests: [request], needs }, async (call) => {
      await call.forward()
      const values = await call.kl(request.baseHidden, request.weight / R)
      await call.backward(request.gradients)
      return { kl: values.reduce((sum, value) => sum + value, 0) / R }
    })
  }

  #checkKl(request: api.KlRequest): void {
    this.#check(request)
    const expected = this.info.width * responseLength(request)
    checkLength('baseHidden', request.baseHidden.length, expected)
  }

  #check(request: api.SequenceRequest): void {
    checkSequence(this.info, request)
    if (request.adapter !== null) checkAdapter(this.info, request.adapter)
  }

  /** On ggml's operators each sequence is a pass of its own. */
  #packs(
    requests: readonly (api.SequenceRequest & { readonly gradients?: unknown })[],
    limit: number,
  ): Pack[] {
    const isNative = this.#host.kernels !== null
    return packsOf(requests, {
      limit,
      sharesPrefix: this.info.attention.every(({ window }) => window === null),
      mayJoin: (index, other) => {
        const [one, two] = [requests[index], requests[other]]
        return (
          isNative &&
          one?.adapter === two?.adapter &&
          one?.temperature === two?.temperature &&
          one?.gradients === two?.gradients
        )
      },
    })
  }

  /** Waits for earlier calls, prepares weights and memory, then runs `body`. */
  async #pass<T>(
    { pack, requests, needs }: PassRequest,
    body: (call: Executor) => Promise<T>,
  ): Promise<T> {
    const members = pack.members.flatMap((i) => requests[i] ?? [])
    return this.#inTurn(async () => body(await this.#open(members, pack.prefix, needs)))
  }

  async #open(
    requests: readonly api.SequenceRequest[],
    prefix: number,
    needs: PassNeeds,
  ): Promise<Executor> {
    const { runtime } = this.#host
    const first = only(requests.slice(0, 1))
    const pacer = createPacer(runtime, {
      threads: this.#host.threads(),
      yieldPoint: first.yieldPoint,
    })
    const work: Work = { runtime, allocator: this.#allocator, pacer }
    const { adapter } = first
    const weights = await this.#store.prepare(work, { adapter, gradient: needs.gradient })
    const batch = layOut(requests, prefix)
    const size = {
      ...needs,
      T: batch.tokens.length,
      R: requests.reduce((sum, request) => sum + responseLength(request), 0),
      firstRow: first.responseStart - 1,
    }
    const places = placePass(this.#arena, this.#place(weights), size)
    return this.#executor({ work, weights, first, batch, places })
  }

  #place(weights: ModelWeights): PassPlace {
    const { runtime, kernels, keptBytes, availableBytes } = this.#host
    return { runtime, kernels, keptBytes, availableBytes, info: this.info, weights }
  }

  #executor({ work, weights, first, batch, places }: OpenPass): Executor {
    const { info } = this
    const { adapter, temperature, tokens } = first
    const { baseHidden } = places
    const { packedHead } = weights
    if (places.kind === 'native') {
      if (packedHead === null) throw new Error('the weights are not packed for our kernels')
      const { plan } = places
      const own = { work, info, weights, plan, batch, adapter, temperature, baseHidden }
      return new NativeExecutor({ ...own, head: packedHead })
    }
    const { plan } = places
    const head = { work, weights, hidden: plan.hidden, temperature, scratch: places.head }
    const pass = { work, info, weights, plan, adapter }
    return new PortableExecutor({ tokens, pass, head, baseHidden })
  }

  memoryPlan(request: {
    readonly tokens: number
    readonly responseTokens: number
    readonly rank: number
  }): api.MemoryPlan {
    const { tokens, responseTokens, rank } = request
    checkMemoryRequest(request)
    const { parts, heldBytes } = this.#store.sizes(rank)
    const paddedRank = Math.max(this.#store.weights.paddedRank, paddedRankOf(rank))
    const place = this.#place({ ...this.#store.weights, paddedRank })
    const available = this.#host.availableBytes()
    const size = {
      T: Math.ceil((tokens - 1) / 16) * 16,
      R: responseTokens,
      firstRow: tokens - responseTokens - 1,
      ...{ idsPerRow: 8, topK: 0, gradient: true, baseHidden: true },
    }
    const weightBytes = parts.reduce((sum, { bytes }) => sum + bytes, 0)
    const held = heldBytes + this.#arena.held
    const planned = (keptBytes: number) => {
      const pass = measurePass({ ...place, keptBytes }, size)
      const facts = { heldBytes: held, availableBytes: available, recomputes: !pass.keepsLayers }
      return memoryPlan([...parts, ...pass.parts], facts)
    }
    const kept = planned(this.#host.keptBytes)
    return kept.fits || weightBytes - heldBytes > available ? kept : planned(0)
  }

  /** Tokens whose values are kept for backward; a longer batch would have to compute them twice. */
  #keptTokens(): number {
    const { info } = this
    const { width, headSize, heads, keyValueHeads, feedForward, layers } = info
    const perToken = 3 * width + headSize * (2 * heads + 2 * keyValueHeads) + 2 * feedForward
    return Math.floor(this.#host.keptBytes / (perToken * 4.2 * layers))
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
