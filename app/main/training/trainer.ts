// The trainer worker's body: owns the engine and one base model, and serves load, train, drift, probe, unload one at a
// time. Nothing of a run is kept but the base's hidden states of neutral exchanges, which depend on the model alone.
import type {
  ProbePosition,
  TrainEvent,
  TrainRequest,
  TrainerBackend,
  TrainerDevice,
} from '../../shared/contract/trainer.ts'
import type { Exchange, RunReport } from '../../shared/domain/training.ts'
import { AppError, isAppError } from '../../shared/errors.ts'
import { adamw, writeAdapter } from '../engine/index.ts'
import type { Adapter, EngineModel, EngineOptions, YieldPoint } from '../engine/index.ts'
import { exchangeTokens } from './anchors.ts'
import { joinState, readState, writeCheckpoint } from './checkpoint.ts'
import { createBaseCache } from './base-cache.ts'
import type { BaseCache } from './base-cache.ts'
import { createModelHolder } from './model-holder.ts'
import { findProbe } from './probe.ts'
import { runRecipe } from './recipe.ts'
import { cancellable, createTurnstile, streamOf } from './stream.ts'
import { createValueHead } from './value-head.ts'

export interface TrainerOptions {
  readonly engineOptions: EngineOptions
  readonly yieldPoint: YieldPoint
  /** Called around every piece of work that may run native code; default: nothing. */
  readonly aroundNativeWork?: <T>(work: () => Promise<T>) => Promise<T>
}

export interface Trainer extends AsyncDisposable {
  /** `device`: where to train; default the processor. */
  load(input: { readonly modelPath: string; readonly device?: TrainerDevice }): Promise<{
    architecture: string
    layers: number
    width: number
    backend: TrainerBackend
  }>
  /** What training would run on; opens the engine for it where no model is loaded. */
  backend(input?: { readonly device?: TrainerDevice }): Promise<TrainerBackend>
  /** Ends with `done`; rejects with `cancelled` after `signal` or an early return, with nothing written. */
  train(request: TrainRequest, signal?: AbortSignal): AsyncGenerator<TrainEvent, void, void>
  drift(
    input: { readonly adapterPath: string; readonly exchanges: readonly Exchange[] },
    signal?: AbortSignal,
  ): Promise<{ kl: number[] }>
  probe(
    input: {
      readonly oldPath: string | null
      readonly newPath: string | null
      readonly exchanges: readonly Exchange[]
    },
    signal?: AbortSignal,
  ): Promise<ProbePosition>
  unload(): Promise<{ unloaded: boolean }>
}

export function createTrainer(options: TrainerOptions): Trainer {
  const closing = new AbortController()
  const turnstile = createTurnstile()
  const { aroundNativeWork: around = (work) => work() } = options
  const turn = <T>(work: () => Promise<T>): Promise<T> => turnstile(() => around(work))
  const base = createBaseCache()
  const holder = createModelHolder(options.engineOptions)

  const yieldPointFor = (signal: AbortSignal | undefined) =>
    cancellable(options.yieldPoint, [closing.signal, ...(signal === undefined ? [] : [signal])])

  return {
    load: (input) =>
      turn(async () => {
        if (await holder.choose(input)) base.clear()
        const { model, backend } = await holder.loaded()
        const { architecture, layers, width } = model.info
        return { architecture, layers, width, backend }
      }),
    backend: (input = {}) => turn(() => holder.backend(input.device ?? 'cpu')),
    train: (request, signal) =>
      streamOf(signal, (emit, ended) =>
        turn(async () => {
          const yieldPoint = yieldPointFor(ended)
          await yieldPoint()
          emit({ kind: 'phase', phase: 'loading' })
          const { model } = await holder.loaded()
          const report = await trainOnce({ model, request, emit, yieldPoint, base })
          emit({ kind: 'done', report })
        }),
      ),
    drift: (input, signal) =>
      turn(async () => {
        const yieldPoint = yieldPointFor(signal)
        const { model } = await holder.loaded()
        const adapter = await model.readAdapter(input.adapterPath)
        const kl: number[] = []
        for (const exchange of input.exchanges) {
          requireReply(exchange)
          const baseHidden = await base.hidden(model, exchange, yieldPoint)
          const sequence = exchangeTokens(exchange)
          const request = { ...sequence, temperature: 1, adapter, baseHidden, yieldPoint }
          const perPosition = await model.kl(request) // [R]
          kl.push(perPosition.reduce((sum, value) => sum + value, 0) / perPosition.length)
        }
        return { kl }
      }),
    probe: (input, signal) =>
      turn(async () => {
        const { model } = await holder.loaded()
        input.exchanges.forEach(requireReply)
        const read = async (path: string | null) => (path === null ? null : model.readAdapter(path))
        return findProbe({
          model,
          oldAdapter: await read(input.oldPath),
          newAdapter: await read(input.newPath),
          exchanges: input.exchanges,
          yieldPoint: yieldPointFor(signal),
        })
      }),
    unload: () => turn(async () => ({ unloaded: await holder.free() })),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await turn(holder.free)
    },
  }
}

async function trainOnce(options: {
  readonly model: EngineModel
  readonly request: TrainRequest
  readonly emit: (event: TrainEvent) => void
  readonly yieldPoint: YieldPoint
  readonly base: BaseCache
}): Promise<RunReport> {
  const { model, request } = options
  const { config, parentPath, parentStatePath, adapterPath, statePath } = request
  const adapter =
    parentPath === null ? model.createAdapter(config) : await model.readAdapter(parentPath)
  const state = parentStatePath === null ? null : await readState(parentStatePath, adapter)
  const optimiser = state?.optimiser ?? adamw(adapter)
  const valueHead = createValueHead(model.info.width, state?.valueHead ?? undefined)
  // Kept for a later run of that method when this one has another.
  const keepsValues = config.method === 'ppo-gae' || state?.valueHead != null
  const write = (path: string) =>
    writeAdapter(path, adapter, { architecture: model.info.architecture })
  return runRecipe({
    ...options,
    adapter,
    optimiser,
    valueHead,
    adapterOfVersion: versionReader(model, request.versionPaths),
    base: {
      hidden: (exchange, yieldPoint) => options.base.hidden(model, exchange, yieldPoint),
      logProbs: (exchange, id, yieldPoint) =>
        options.base.logProbs(model, exchange, { id, yieldPoint }),
    },
    write: () =>
      writeCheckpoint(
        { adapterPath, statePath },
        {
          state: joinState(optimiser.serialise(), keepsValues ? valueHead.serialise() : null),
          writeAdapter: write,
        },
      ),
  })
}

/** Reads each version at most once a run; version 0 is the base. */
function versionReader(model: EngineModel, paths: TrainRequest['versionPaths']) {
  const known = new Map<number, Promise<Adapter | 'missing'>>()
  return async (version: number): Promise<Adapter | null | 'missing'> => {
    if (version === 0) return null
    const path = paths[version]
    if (path === undefined) return 'missing'
    const reading = known.get(version) ?? readOrMissing(model, path)
    known.set(version, reading)
    return reading
  }
}

async function readOrMissing(model: EngineModel, path: string): Promise<Adapter | 'missing'> {
  try {
    return await model.readAdapter(path)
  } catch (error) {
    if (isAppError(error) && error.code === 'not-found') return 'missing'
    throw error
  }
}

function requireReply(exchange: Exchange): void {
  if (exchange.promptIds.length > 0 && exchange.responseIds.length > 0) return
  throw new AppError('invalid-input', 'an exchange needs a prompt and a reply')
}
