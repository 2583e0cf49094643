// llama.cpp contexts by adapter version and use. A LoRA belongs to a context for its whole life, so the
// version is part of every cache by construction: no prefix computed under one adapter is seen by another.

import type { LlamaContext, LlamaContextSequence, LlamaModel } from 'node-llama-cpp'
import { AppError } from '../../shared/errors.ts'
import { checkAdapter, countAdapters, type AdapterCount } from './adapters.ts'
import type { GgufSummary } from './gguf-check.ts'
import { createTurnQueue, type TurnQueue } from './lanes.ts'
import type { AdapterFile, Lane } from './types.ts'

/** The most tokens one decode takes: with 512 an abort waited 2 s on one thread, with 64 a quarter. */
export const chunkTokens = 64

/** Practice and evaluation share a context, so that they never hold up a reply of the same version. */
export type Use = 'serve' | 'background' | 'judge'
const uses = ['serve', 'background', 'judge'] as const

export interface Slot {
  readonly adapter: AdapterFile
  readonly use: Use
  readonly context: LlamaContext
  readonly sequence: LlamaContextSequence
  /** One request at a time: a slot has one sequence. */
  readonly turns: TurnQueue
  /** Tokens from the start computed in whole aligned chunks, so that computing them again gives the same bits. */
  alignedTokens: number
  /** A decode failed and the cache may hold anything. */
  broken: boolean
  holders: number
  retired: boolean
  idleTimer: NodeJS.Timeout | null
}

export interface TurnRequest {
  /** Asked again when the turn comes: a waiting reply starts on what is live then. */
  readonly adapter: () => AdapterFile
  readonly lane: Lane
  readonly signal?: AbortSignal | undefined
}

export interface ContextsOptions {
  readonly model: LlamaModel
  readonly summary: GgufSummary
  readonly contextSize: number
  /** How long the contexts of judging, practice and evaluation stay without use. */
  readonly idleMs: number
}

export class Contexts {
  readonly #options: ContextsOptions
  readonly #slots = new Map<string, Promise<Slot>>()
  readonly #adapters: AdapterCount
  readonly #leaving = new Set<Promise<void>>()

  constructor(options: ContextsOptions) {
    this.#options = options
    this.#adapters = countAdapters(options.model)
  }

  /** Gives `work` a slot of its own for as long as it runs; makes the slot when it is not there. */
  async turn<T>(request: TurnRequest, work: (slot: Slot) => Promise<T>): Promise<T> {
    const { adapter, lane, signal } = request
    for (;;) {
      const wanted = adapter()
      const slot = await this.#hold(wanted, useOf(lane))
      try {
        const done = await slot.turns.run(
          lane,
          async () => {
            if (slot.broken || adapter().version !== wanted.version) return null
            return { value: await work(slot) }
          },
          signal,
        )
        if (done !== null) return done.value
      } finally {
        await this.#leave(slot)
      }
    }
  }

  /** Whether the version can serve at once. */
  has({ version }: AdapterFile): boolean {
    return this.#slots.has(keyOf(version, 'serve'))
  }

  /** Requests that run or wait on a version. */
  async holders(version: number): Promise<number> {
    return (await this.#slotsOf(version)).reduce((sum, slot) => sum + slot.holders, 0)
  }

  /** New requests make new slots from now on; an old one goes when its last holder leaves. */
  async retire(version: number): Promise<void> {
    for (const slot of await this.#slotsOf(version)) {
      if (slot.retired) continue
      this.#retireSlot(slot)
      if (slot.holders === 0) await this.#disposeSlot(slot)
    }
  }

  async dispose(): Promise<void> {
    const settled = await Promise.allSettled(this.#slots.values())
    const live = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    for (const slot of live) this.#retireSlot(slot)
    await Promise.all(live.map((slot) => this.#disposeSlot(slot)))
    await Promise.allSettled(this.#leaving)
  }

  async #hold(adapter: AdapterFile, use: Use): Promise<Slot> {
    for (;;) {
      const slot = await this.#find(adapter, use)
      if (slot.retired) continue
      if (slot.adapter.path !== adapter.path) throw otherPath(slot.adapter, adapter)
      stopIdling(slot)
      slot.holders++
      return slot
    }
  }

  #find(adapter: AdapterFile, use: Use): Promise<Slot> {
    const key = keyOf(adapter.version, use)
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    const made = this.#create(adapter, use)
    this.#slots.set(key, made)
    made.catch(() => {
      if (this.#slots.get(key) === made) this.#slots.delete(key)
    })
    return made
  }

  async #create(adapter: AdapterFile, use: Use): Promise<Slot> {
    this.#adapters.take(adapter.path)
    try {
      return await createSlot(adapter, use, this.#options)
    } catch (error) {
      await this.#adapters.give(adapter.path)
      throw error
    }
  }

  async #leave(slot: Slot): Promise<void> {
    slot.holders--
    if (slot.broken) this.#retireSlot(slot)
    if (slot.holders > 0) return
    if (slot.retired) await this.#disposeSlot(slot)
    else if (slot.use !== 'serve') {
      slot.idleTimer = setTimeout(() => {
        this.#retireSlot(slot)
        void this.#disposeSlot(slot)
      }, this.#options.idleMs)
      slot.idleTimer.unref()
    }
  }

  #retireSlot(slot: Slot): void {
    if (slot.retired) return
    slot.retired = true
    stopIdling(slot)
    this.#slots.delete(keyOf(slot.adapter.version, slot.use))
  }

  async #disposeSlot(slot: Slot): Promise<void> {
    const gone = slot.context.dispose().then(() => this.#adapters.give(slot.adapter.path))
    this.#leaving.add(gone)
    await gone.finally(() => this.#leaving.delete(gone))
  }

  async #slotsOf(version: number): Promise<Slot[]> {
    const known = uses.flatMap((use) => this.#slots.get(keyOf(version, use)) ?? [])
    const settled = await Promise.allSettled(known)
    return settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }
}

function keyOf(version: number, use: Use): string {
  return `${version}:${use}`
}

function useOf(lane: Lane): Use {
  return lane === 'serve' || lane === 'judge' ? lane : 'background'
}

function stopIdling(slot: Slot): void {
  if (slot.idleTimer !== null) clearTimeout(slot.idleTimer)
  slot.idleTimer = null
}

async function createSlot(
  adapter: AdapterFile,
  use: Use,
  { model, summary, contextSize }: ContextsOptions,
): Promise<Slot> {
  if (adapter.path !== null) await checkAdapter(adapter.path, summary)
  const context = await createContext(model, contextSize, adapter.path)
  const sequence = context.getSequence({
    contextShift: {
      // Lengths are checked before decoding; a shift would silently drop the prompt's start.
      strategy: () => {
        throw new AppError('internal', 'the context is full although the length was checked')
      },
    },
  })
  return {
    adapter,
    use,
    context,
    sequence,
    turns: createTurnQueue(),
    alignedTokens: 0,
    broken: false,
    holders: 0,
    retired: false,
    idleTimer: null,
  }
}

async function createContext(
  model: LlamaModel,
  contextSize: number,
  path: string | null,
): Promise<LlamaContext> {
  try {
    return await model.createContext({
      contextSize,
      sequences: 1,
      batchSize: chunkTokens,
      // 0 = as many as the instance may use at the time of each decode.
      threads: 0,
      // Without it a sliding-window model cannot keep a prefix.
      swaFullCache: true,
      failedCreationRemedy: false,
      ...(path === null ? {} : { lora: path }),
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (path !== null && /lora/i.test(reason))
      throw new AppError('corrupt', `the adapter ${path} does not fit the model: ${reason}`, {
        cause,
      })
    throw new AppError(
      'out-of-memory',
      `no memory for a context of ${contextSize} tokens: ${reason}`,
      { cause },
    )
  }
}

function otherPath(loaded: AdapterFile, asked: AdapterFile): AppError {
  const name = (adapter: AdapterFile): string => adapter.path ?? 'the base model'
  return new AppError(
    'conflict',
    `version ${asked.version} is loaded from ${name(loaded)}, not ${name(asked)}`,
  )
}
