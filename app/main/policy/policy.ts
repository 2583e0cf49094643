// The policy: which version serves, who may decode next, and the life of the one llama.cpp instance.

import { AppError, isAppError } from '../../shared/errors.ts'
import { fitMessages } from './budget.ts'
import { Contexts, type Slot } from './contexts.ts'
import { checkGenerate, finished, sampleReply, type Sampled } from './generate.ts'
import { createTurnQueue } from './lanes.ts'
import { createLoadCount } from './load.ts'
import { openNative, type Native } from './native.ts'
import { decodeStep, prefill, type DecodeSettings } from './prefill.ts'
import { checkScored, scoreEach, scoreNext } from './scores.ts'
import { createChatTemplate, findReplyEnd, type ChatTemplate } from './template.ts'
import type {
  AdapterFile,
  GenerateRequest,
  Generation,
  Lane,
  NextTokenScores,
  Policy,
  PolicyInfo,
  PolicyOptions,
  PromptMessage,
  RenderedPrompt,
} from './types.ts'
import { textOfIds } from './vocabulary.ts'

const base: AdapterFile = { version: 0, path: null }
/** Judging and practice come in bursts; after a minute without one their memory is given back. */
const idleMs = 60_000

/** Rejects with a plain sentence when the file or the engine cannot be used; nothing is left open then. */
export async function openPolicy(options: PolicyOptions): Promise<Policy> {
  const native = await openNative(options)
  const policy = new LlamaPolicy(native)
  try {
    await policy.prepare(base)
    return policy
  } catch (error) {
    await policy[Symbol.asyncDispose]()
    throw error
  }
}

class LlamaPolicy implements Policy {
  readonly #native: Native
  readonly #template: ChatTemplate
  readonly #info: PolicyInfo
  readonly #contexts: Contexts
  readonly #steps = createTurnQueue()
  readonly #load = createLoadCount()
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  #closed: Promise<void> | null = null
  #active = base
  /** The newest chat's ids, with which a new version's context is warmed. */
  #newestChat: readonly number[] = []

  constructor(native: Native) {
    const { model, summary, vocabulary, info } = native
    const source = model.fileInfo.metadata.tokenizer.chat_template ?? null
    this.#native = native
    this.#template = createChatTemplate(source, vocabulary)
    this.#info = { ...info, replyEndId: findReplyEnd(this.#template, vocabulary) }
    this.#contexts = new Contexts({ model, summary, contextSize: info.contextSize, idleMs })
  }

  info(): PolicyInfo {
    return this.#info
  }

  render(
    messages: readonly PromptMessage[],
    options: { readonly reserve: number; readonly continueWith?: string },
  ): RenderedPrompt {
    this.#checkOpen()
    const { reserve, continueWith = '' } = options
    if (messages.length === 0) throw new AppError('invalid-input', 'there is no message to answer')
    return fitMessages(messages, { contextSize: this.info().contextSize, reserve }, (kept) =>
      this.#template.ids(kept, continueWith),
    )
  }

  textOf(ids: readonly number[]): string {
    this.#checkOpen()
    return textOfIds(this.#native.vocabulary, ids)
  }

  tokenText(id: number): string {
    this.#checkOpen()
    return this.#native.vocabulary.tokenText(id)
  }

  idsOf(text: string): number[] {
    this.#checkOpen()
    return this.#native.vocabulary.plainIds(text)
  }

  generate(request: GenerateRequest): Promise<Generation> {
    return this.#track(request.lane, () => this.#generate(request))
  }

  nextTokenScores(request: {
    readonly lane: Lane
    readonly promptIds: readonly number[]
    readonly adapter: AdapterFile
  }): Promise<NextTokenScores> {
    const { lane, promptIds, adapter } = request
    return this.#track(lane, async () => {
      checkScored(promptIds, [], this.info().contextSize)
      const logProbs = await this.#turn(lane, adapter, (slot, settings) =>
        scoreNext(slot, promptIds, { size: this.info().vocabulary, settings }),
      )
      return { logProbs }
    })
  }

  scoreContinuations(request: {
    readonly lane: Lane
    readonly promptIds: readonly number[]
    readonly continuations: readonly (readonly number[])[]
  }): Promise<number[]> {
    const { lane, promptIds, continuations } = request
    return this.#track(lane, async () => {
      checkScored(promptIds, continuations, this.info().contextSize)
      return this.#turn(lane, base, (slot, settings) =>
        scoreEach(slot, request, { size: this.info().vocabulary, settings }),
      )
    })
  }

  prepare(adapter: AdapterFile): Promise<void> {
    return this.#keep(async () => {
      const ids = this.#newestChat.length > 0 ? this.#newestChat : this.idsOf(' ')
      const signal = this.#closing.signal
      // A place among the replies, but each chunk waits for everything more urgent.
      const settings = { lane: 'evaluate', steps: this.#steps, signal } as const
      const turn = { adapter: () => adapter, lane: 'serve', signal } as const
      await this.#contexts.turn(turn, async (slot) => {
        const rest = await prefill(slot, ids, settings)
        await decodeStep(slot, settings, () =>
          slot.sequence.evaluateWithoutGeneratingNewTokens(rest),
        )
      })
    })
  }

  activate(adapter: AdapterFile): Promise<void> {
    return this.#keep(async () => {
      if (!this.#contexts.has(adapter))
        throw new AppError('conflict', `version ${adapter.version} was not prepared`)
      const before = this.#active
      this.#active = adapter
      if (before.version !== adapter.version) await this.#contexts.retire(before.version)
    })
  }

  active(): AdapterFile {
    return this.#active
  }

  release(version: number): Promise<void> {
    return this.#keep(async () => {
      const holders = await this.#contexts.holders(version)
      if (version === this.#active.version)
        throw new AppError('conflict', `version ${version} is live and cannot be freed`)
      if (holders > 0)
        throw new AppError('busy', `version ${version} has ${holders} running requests`)
      await this.#contexts.retire(version)
    })
  }

  setThreads(threads: number): void {
    this.#checkOpen()
    if (!Number.isInteger(threads) || threads < 1)
      throw new AppError('invalid-input', `at least 1 thread is needed, not ${threads}`)
    this.#native.llama.maxThreads = threads
  }

  load(): Readonly<Record<Lane, number>> {
    return this.#load.counts()
  }

  onLoadChange(listener: () => void): () => void {
    return this.#load.listen(listener)
  }

  /** Stops what runs, waits for it, and frees everything; the process can end by itself afterwards. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    await this.#contexts.dispose()
    await this.#native.model.dispose()
    await this.#native.llama.dispose()
  }

  async #generate(request: GenerateRequest): Promise<Generation> {
    checkGenerate(request, this.info().contextSize)
    const startedAt = performance.now()
    const { lane } = request
    const closing = this.#closing.signal
    const signal = request.signal ? AbortSignal.any([request.signal, closing]) : closing
    const settings = { lane, steps: this.#steps, signal }
    const { vocabulary } = this.#native
    const adapter = (): AdapterFile =>
      request.adapter === 'active' ? this.#active : request.adapter
    const sampled: Sampled = { tokens: [], finish: 'stopped', firstTokenAt: null }
    let { version } = adapter()
    try {
      await this.#contexts.turn({ adapter, lane, signal }, async (slot) => {
        version = slot.adapter.version
        await sampleReply(slot, request, { vocabulary, settings, sampled })
      })
    } catch (error) {
      if (!signal.aborted || !isAppError(error) || error.code !== 'cancelled') throw error
    }
    const generation = finished(request, sampled, { startedAt, version })
    if (lane === 'serve') {
      // The last id needs no place in the cache, and a full context has none for it.
      this.#newestChat = [...request.promptIds, ...generation.ids.slice(0, -1)]
    }
    return generation
  }

  #turn<T>(
    lane: Lane,
    adapter: AdapterFile,
    work: (slot: Slot, settings: DecodeSettings) => Promise<T>,
  ): Promise<T> {
    const { signal } = this.#closing
    return this.#contexts.turn({ adapter: () => adapter, lane, signal }, (slot) =>
      work(slot, { lane, steps: this.#steps, signal }),
    )
  }

  /** Counts a request as load for as long as it runs or waits. */
  #track<T>(lane: Lane, work: () => Promise<T>): Promise<T> {
    return this.#keep(async () => {
      const leave = this.#load.enter(lane)
      try {
        return await work()
      } finally {
        leave()
      }
    })
  }

  /** Lets `dispose` wait for the work; refuses it when the policy is closed. */
  async #keep<T>(work: () => Promise<T>): Promise<T> {
    this.#checkOpen()
    const done = work()
    this.#running.add(done)
    try {
      return await done
    } finally {
      this.#running.delete(done)
    }
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new AppError('unavailable', 'the model is closed')
  }
}
