// What node-llama-cpp, used as anyone would, gives as log-probabilities of a sequence's tokens.
import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp'

export interface ServedRequest {
  readonly modelPath: string
  /** A GGUF LoRA file, or null for the base model. */
  readonly adapterPath: string | null
  readonly tokens: Int32Array
}

/** Log-probability of each token after the first, given those before it, full softmax at temperature 1. */
export async function servedLogProbs(request: ServedRequest): Promise<number[]> {
  const llama = await getLlama({
    build: 'never',
    skipDownload: true,
    gpu: false,
    maxThreads: 2,
    logLevel: LlamaLogLevel.error,
  })
  try {
    const model = await llama.loadModel({ modelPath: request.modelPath })
    const { adapterPath } = request
    const context = await model.createContext({
      contextSize: 512,
      batchSize: 512,
      ...(adapterPath === null ? {} : { lora: adapterPath }),
    })
    const tokens = [...request.tokens] as Token[]
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 }
    const evaluated = await context
      .getSequence()
      .controlledEvaluate(
        tokens.map((token, i) =>
          i === tokens.length - 1
            ? [token, {}]
            : [token, { generateNext: { probabilities: true, options } }],
        ),
      )
    return tokens.slice(1).map((token, i) => {
      const probability = evaluated[i]?.next?.probabilities?.get(token)
      return probability === undefined ? NaN : Math.log(probability)
    })
  } finally {
    await llama.dispose()
  }
}
