// A program of its own that uses node-llama-cpp and nothing of ours: `node stock-lora.ts REQUEST.json ANSWER.json`
// writes the log-probabilities of the asked ids as next token after each prompt, at temperature 1.
import { readFileSync, writeFileSync } from 'node:fs'
import { getLlama, type Token } from 'node-llama-cpp'

export interface StockRequest {
  readonly modelPath: string
  /** A GGUF LoRA; null = the base model alone. */
  readonly adapterPath: string | null
  readonly prompts: readonly (readonly number[])[]
  /** Wanted ids per prompt. */
  readonly ids: readonly (readonly number[])[]
}

const [requestPath = '', answerPath = ''] = process.argv.slice(2)
const request = JSON.parse(readFileSync(requestPath, 'utf8')) as StockRequest

const llama = await getLlama({ build: 'never', skipDownload: true, gpu: false, maxThreads: 1 })
const model = await llama.loadModel({ modelPath: request.modelPath })
const context = await model.createContext({
  contextSize: 512,
  ...(request.adapterPath === null ? {} : { lora: request.adapterPath }),
})
const sequence = context.getSequence()
const options = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 1 }
const answers: number[][] = []
for (const [index, prompt] of request.prompts.entries()) {
  await sequence.clearHistory()
  const tokens = [...prompt] as Token[]
  const evaluated = await sequence.controlledEvaluate(
    tokens.map((token, at) =>
      at < tokens.length - 1 ? token : [token, { generateNext: { probabilities: true, options } }],
    ),
  )
  const probabilities = evaluated.at(-1)?.next.probabilities
  if (probabilities === undefined) throw new Error(`prompt ${index} gave no probabilities`)
  answers.push(
    (request.ids[index] ?? []).map((id) => Math.log(probabilities.get(id as Token) ?? NaN)),
  )
}
writeFileSync(answerPath, JSON.stringify(answers))
await llama.dispose()
