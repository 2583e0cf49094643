// The engine and the one base model of a trainer: opened on first use, on the GPU where that is wanted and possible.
import type { TrainerBackend, TrainerDevice } from '../../shared/contract/trainer.ts'
import { AppError, isAppError } from '../../shared/errors.ts'
import { expectedSlowdown, openEngine } from '../engine/index.ts'
import type { Engine, EngineModel, EngineOptions } from '../engine/index.ts'

export interface Loaded {
  readonly model: EngineModel
  readonly backend: TrainerBackend
}

export interface ModelChoice {
  readonly modelPath: string
  /** Default: the processor. */
  readonly device?: TrainerDevice
}

export interface ModelHolder {
  /** Names the model to use from now on and where; true when that is another choice than before. */
  choose(choice: ModelChoice): Promise<boolean>
  /** Loads the chosen model when it is not there. */
  loaded(): Promise<Loaded>
  /** What training runs on; without a model the engine is opened to look. */
  backend(device: TrainerDevice): Promise<TrainerBackend>
  /** False when nothing was loaded. */
  free(): Promise<boolean>
}

export function createModelHolder(options: EngineOptions): ModelHolder {
  let chosen: Required<ModelChoice> | null = null
  let current: (Loaded & { readonly engine: Engine }) | null = null
  const free = async () => {
    const former = current
    current = null
    await former?.model[Symbol.asyncDispose]()
    await former?.engine[Symbol.asyncDispose]()
    return former !== null
  }
  return {
    free,
    async backend(device) {
      if (current !== null && chosen?.device === device) return current.backend
      await using engine = await openEngine({ ...options, device })
      return await backendOf(engine, null)
    },
    async choose({ modelPath, device = 'cpu' }) {
      if (modelPath === chosen?.modelPath && device === chosen.device) return false
      await free()
      chosen = { modelPath, device }
      return true
    },
    async loaded() {
      if (chosen === null) throw new AppError('unavailable', 'the trainer has no model yet')
      current ??= await openModel(chosen, options)
      return current
    },
  }
}

async function openModel({ modelPath, device }: Required<ModelChoice>, options: EngineOptions) {
  try {
    return await openOn(modelPath, { ...options, device })
  } catch (error) {
    // What a GPU cannot hold the processor may: its memory is another one.
    if (device === 'cpu' || !isAppError(error) || error.code !== 'out-of-memory') throw error
    return await openOn(modelPath, { ...options, device: 'cpu' }, error.message)
  }
}

async function openOn(modelPath: string, options: EngineOptions, refusal: string | null = null) {
  const engine = await openEngine(options)
  try {
    const model = await engine.loadModel(modelPath)
    return { engine, model, backend: await backendOf(engine, refusal) }
  } catch (error) {
    await engine[Symbol.asyncDispose]()
    throw error
  }
}

/** `refusal`: why the model is not on the GPU although there is one. */
async function backendOf({ backend }: Engine, refusal: string | null): Promise<TrainerBackend> {
  const { name, device, deviceReason, kernels, kernelsReason: reason } = backend
  const isSlower = device === 'cpu' && kernels === null
  return {
    device: name,
    kind: device,
    gpuReason: refusal ?? deviceReason,
    kernels,
    reason,
    slowdown: isSlower ? await expectedSlowdown() : null,
  }
}
