// Opens ggml on a device, our kernels where they are asked for and can run, and the models on them; closing the
// engine closes its models first.
import { openDevice } from './device/open.ts'
import { scaleGradients } from './device/scaled-model.ts'
import type { Runtime } from './ffi/index.ts'
import { openKernels, type OpenedKernels } from './kernels/open.ts'
import { LlamaModel } from './nn/model.ts'
import type { Engine, EngineModel, EngineOptions } from './types.ts'

/** Room for the values of 1,000 tokens of the 135M model. */
const mostKeptBytes = 768 * 2 ** 20

export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { runtime, reason: deviceReason } = await openDevice(options)
  const { availableBytes = () => runtime.freeBytes() } = options
  const keptBytes = options.keptBytes ?? Math.min(mostKeptBytes, availableBytes() / 4)
  const opened = await openFor(runtime, options)
  const kernels = opened.kind === 'native' ? opened.kernels : null
  const models = new Set<LlamaModel>()
  let threads = options.threads
  return {
    backend: {
      name: runtime.name,
      libraryVersion: runtime.version,
      kernels: opened.kind === 'native' ? opened.kernels.name : null,
      kernelsReason: opened.kind === 'none' ? opened.reason : null,
      device: runtime.device,
      deviceReason,
    },
    setThreads(count) {
      runtime.setThreads(count)
      threads = count
    },
    async loadModel(path): Promise<EngineModel> {
      const onDispose = (model: LlamaModel): void => void models.delete(model)
      const host = {
        runtime,
        kernels,
        threads: () => threads,
        keptBytes,
        availableBytes,
        onDispose,
      }
      const model = new LlamaModel(host, path)
      models.add(model)
      return runtime.device === 'cpu' ? model : scaleGradients(model)
    },
    liveHandles: () => runtime.counter.alive,
    async [Symbol.asyncDispose]() {
      for (const model of models) await model[Symbol.asyncDispose]()
      runtime[Symbol.dispose]()
    },
  }
}

async function openFor(runtime: Runtime, options: EngineOptions): Promise<OpenedKernels> {
  if (options.precision !== 'native') return { kind: 'none', reason: 'f32 was asked for' }
  if (runtime.device !== 'cpu') return { kind: 'none', reason: 'the GPU does the products' }
  try {
    return await openKernels(runtime, { cacheDir: options.kernelCacheDir })
  } catch (error) {
    runtime[Symbol.dispose]()
    throw error
  }
}
