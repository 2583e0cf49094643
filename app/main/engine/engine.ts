// Opens ggml and the models on it; closing the engine closes its models first.
import { Runtime } from './ffi/index.ts'
import { LlamaModel } from './nn/model.ts'
import type { Engine, EngineModel, EngineOptions } from './types.ts'

/** Room for the values of 640 tokens of the 135M model. */
const defaultKeptBytes = 448 * 2 ** 20

export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { libraryDir, keptBytes = defaultKeptBytes } = options
  const runtime = new Runtime({ libraryDir, threads: options.threads })
  const models = new Set<LlamaModel>()
  let threads = options.threads
  return {
    backend: { name: runtime.name, libraryVersion: runtime.version },
    setThreads(count) {
      runtime.setThreads(count)
      threads = count
    },
    async loadModel(path): Promise<EngineModel> {
      const onDispose = (model: LlamaModel): void => void models.delete(model)
      const model = new LlamaModel({ runtime, threads: () => threads, keptBytes, onDispose }, path)
      models.add(model)
      return model
    },
    liveHandles: () => runtime.counter.alive,
    async [Symbol.asyncDispose]() {
      for (const model of models) await model[Symbol.asyncDispose]()
      runtime[Symbol.dispose]()
    },
  }
}
