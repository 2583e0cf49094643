// A policy that says what a test tells it to and remembers what it was asked. Ids are code points; no model is loaded.
import { AppError } from '../../app/shared/errors.ts'
import type {
  AdapterFile,
  Generation,
  GenerateRequest,
  Policy,
  PromptMessage,
} from '../../app/main/policy/types.ts'

export interface Answer {
  readonly pieces: readonly string[]
  /** Default: 10, 11, … one per piece. */
  readonly ids?: readonly number[]
  /** How the reply ends when nobody stops it. */
  readonly finish?: 'stop' | 'length'
  readonly wait?: Promise<void>
  readonly fail?: AppError
}

export interface PolicyScript {
  readonly answer: (request: GenerateRequest, call: number) => Answer | undefined
  /** Log-probabilities of the next token under an adapter. */
  readonly scores?: (adapter: AdapterFile) => Float32Array
  /** Rejects for versions that a test calls broken. */
  readonly prepare?: (adapter: AdapterFile) => void
}

export interface ScriptedPolicy {
  readonly policy: Policy
  readonly asked: GenerateRequest[]
  /** `prepare 1`, `activate 1`, `release 1`, in order. */
  readonly calls: string[]
}

export const scriptedEndId = 2
const longestPrompt = 2000

/** One message's text as ids, without an end. */
export function scriptedIds(text: string): number[] {
  return [...text].map((character) => character.codePointAt(0) ?? 0)
}

/** The text that a scripted prompt was made from. */
export function scriptedText(ids: readonly number[]): string {
  return String.fromCodePoint(...ids)
}

function render(messages: readonly PromptMessage[]) {
  const ids = scriptedIds(messages.map((message) => message.text).join('\u0001'))
  if (ids.length > longestPrompt) {
    throw new AppError('too-large', 'The prompt has too many tokens.')
  }
  return { ids, droppedMessages: 0 }
}

async function generate(
  request: GenerateRequest,
  answer: Answer,
  version: number,
): Promise<Generation> {
  const said: string[] = []
  for (const [index, text] of answer.pieces.entries()) {
    if (request.signal?.aborted === true) break
    said.push(text)
    request.onToken?.({ id: 10 + index, logProb: -0.5, text })
  }
  await answer.wait
  if (answer.fail !== undefined) throw answer.fail
  const ids = answer.ids ?? said.map((_, index) => 10 + index)
  return {
    ids,
    logProbs: ids.map(() => -0.5),
    text: said.join(''),
    finish: request.signal?.aborted === true ? 'stopped' : (answer.finish ?? 'stop'),
    version,
    promptTokens: request.promptIds.length,
    timeToFirstTokenMs: 1,
    tokensPerSecond: 100,
  }
}

export function scriptedPolicy(script: PolicyScript): ScriptedPolicy {
  const asked: GenerateRequest[] = []
  const calls: string[] = []
  let active: AdapterFile = { version: 0, path: null }
  const policy: Policy = {
    info: () => ({
      modelId: 'test',
      name: 'Test',
      path: 'test.gguf',
      architecture: 'llama',
      contextSize: 512,
      sizeBytes: 1,
      vocabulary: 300,
      endIds: [1, scriptedEndId],
      replyEndId: scriptedEndId,
      device: 'cpu',
      deviceSentence: 'CPU',
    }),
    render,
    textOf: scriptedText,
    tokenText: (id) => String.fromCodePoint(id),
    idsOf: scriptedIds,
    active: () => active,
    async generate(request) {
      asked.push(request)
      const answer = script.answer(request, asked.length)
      if (answer === undefined) throw new Error('the test has no further answer')
      const { version } = request.adapter === 'active' ? active : request.adapter
      return generate(request, answer, version)
    },
    async nextTokenScores({ adapter }) {
      if (script.scores === undefined) throw new Error('this scripted policy gives no scores')
      return Promise.resolve({ logProbs: script.scores(adapter) })
    },
    scoreContinuations: () => Promise.reject(new Error('this scripted policy does not judge')),
    async prepare(adapter) {
      script.prepare?.(adapter)
      calls.push(`prepare ${adapter.version}`)
      return Promise.resolve()
    },
    async activate(adapter) {
      active = adapter
      calls.push(`activate ${adapter.version}`)
      return Promise.resolve()
    },
    async release(version) {
      calls.push(`release ${version}`)
      return Promise.resolve()
    },
    setThreads: () => undefined,
    load: () => ({ serve: 0, judge: 0, practise: 0, evaluate: 0 }),
    onLoadChange: () => () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  return { policy, asked, calls }
}
