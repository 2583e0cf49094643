// What node-llama-cpp, used as anyone would, gives as log-probabilities of a sequence's tokens.
import {
  getLlama,
  LlamaLogLevel,
  type LlamaContextSequence,
  type LlamaModel,
  type Token,
} from 'node-llama-cpp'

export interface ServedRequest {
  readonly modelPath: string
  /** A GGUF LoRA file, or null for the base model. */
  readonly adapterPath: string | null
  readonly tokens: Int32Array
}

/** Full softmax at temperature 1: no truncation. */
const untruncated = { temperature: 1, topK: 0, topP: 1, minP: 0 }
/** Tokens asked for at once: each brings a map over the whole vocabulary. */
const pieceTokens = 16

/** Log-probability of each token after the first, given those before it, full softmax at temperature 1. */
export async function servedLogProbs(request: ServedRequest): Promise<number[]> {
  return withModel(request.modelPath, async (model) => {
    const { adapterPath } = request
    const context = await model.createContext({
      contextSize: 512,
      batchSize: 512,
      ...(adapterPath === null ? {} : { lora: adapterPath }),
    })
    const sequence = context.getSequence()
    const tokens = [...request.tokens] as Token[]
    const found: number[] = []
    for (let start = 0; start < tokens.length - 1; start += pieceTokens) {
      const piece = tokens.slice(start, Math.min(start + pieceTokens, tokens.length - 1))
      const evaluated = await sequence.controlledEvaluate(
        piece.map((token) => [
          token,
          { generateNext: { probabilities: true, options: untruncated } },
        ]),
      )
      piece.forEach((_, i) => {
        const probabilities = evaluated[i]?.next?.probabilities
        found.push(logOf(probabilities, tokens[start + i + 1]))
      })
    }
    return found
  })
}

export interface SampledReply {
  /** Prompt, then reply. */
  readonly tokens: Int32Array
  readonly responseStart: number
  /** Log-probabilities of the reply's tokens as they were sampled, one by one. */
  readonly logProbs: readonly number[]
  /** Some of them again, as the server gives them after it has read all before at once; by place in the reply. */
  readonly reread: ReadonlyMap<number, number>
}

/** Replies of exactly `length` tokens, one after another: sampled side by side node-llama-cpp mixes them up. */
export async function sampleReplies(request: {
  readonly modelPath: string
  readonly prompts: readonly string[]
  readonly length: number
  /** Every so-manieth token is read again. */
  readonly rereadEvery: number
}): Promise<SampledReply[]> {
  return withModel(request.modelPath, async (model) => {
    const context = await model.createContext({ contextSize: request.length + 128, batchSize: 512 })
    const sequence = context.getSequence()
    const replies: SampledReply[] = []
    for (const prompt of request.prompts) {
      replies.push(await sampleReply(sequence, model.tokenize(prompt, true), request))
    }
    return replies
  })
}

async function sampleReply(
  sequence: LlamaContextSequence,
  prompt: Token[],
  { length, rereadEvery }: { readonly length: number; readonly rereadEvery: number },
): Promise<SampledReply> {
  await sequence.clearHistory()
  const options = { ...untruncated, seed: prompt.length, yieldEogToken: true }
  const reply: Token[] = []
  const logProbs: number[] = []
  for await (const { token, confidence } of sequence.evaluateWithMetadata(
    prompt,
    { confidence: true },
    options,
  )) {
    reply.push(token)
    logProbs.push(Math.log(confidence))
    if (reply.length === length) break
  }
  const tokens = [...prompt, ...reply]
  const reread = new Map<number, number>()
  for (let place = rereadEvery; place < length; place += rereadEvery) {
    reread.set(place, await readNext(sequence, tokens.slice(0, prompt.length + place + 1)))
  }
  return {
    tokens: Int32Array.from(tokens),
    responseStart: prompt.length,
    logProbs,
    reread,
  }
}

/** Log-probability of the last token after one reading of all before it. */
async function readNext(sequence: LlamaContextSequence, tokens: readonly Token[]): Promise<number> {
  await sequence.clearHistory()
  const before = tokens.slice(0, -1)
  const evaluated = await sequence.controlledEvaluate(
    before.map((token, i) =>
      i === before.length - 1
        ? [token, { generateNext: { probabilities: true, options: untruncated } }]
        : token,
    ),
  )
  return logOf(evaluated.at(-1)?.next.probabilities, tokens.at(-1))
}

function logOf(
  probabilities: ReadonlyMap<Token, number> | undefined,
  token: Token | undefined,
): number {
  const probability = token === undefined ? undefined : probabilities?.get(token)
  return probability === undefined ? NaN : Math.log(probability)
}

async function withModel<T>(path: string, use: (model: LlamaModel) => Promise<T>): Promise<T> {
  const llama = await getLlama({
    build: 'never',
    skipDownload: true,
    gpu: false,
    maxThreads: 2,
    logLevel: LlamaLogLevel.error,
  })
  try {
    return await use(await llama.loadModel({ modelPath: path }))
  } finally {
    await llama.dispose()
  }
}
