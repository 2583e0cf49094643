// The policy's door as types: serving on node-llama-cpp. All tokenising of the product happens behind it.

export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
}

export interface RenderedPrompt {
  readonly ids: readonly number[]
  /** Old messages left out because the prompt did not fit. */
  readonly droppedMessages: number
}

export interface PolicyInfo {
  readonly modelId: string
  readonly name: string
  readonly path: string
  readonly architecture: string
  readonly contextSize: number
  readonly sizeBytes: number
  readonly vocabulary: number
  /** Ids at which a reply stops, in rising order; which of them the model writes, only `replyEndId` says. */
  readonly endIds: readonly number[]
  /** The id that a complete reply of this model ends with; null where neither template nor file names one. */
  readonly replyEndId: number | null
  readonly device: 'cuda' | 'vulkan' | 'metal' | 'cpu'
  /** Plain words, with the reason for a fall-back to the CPU. */
  readonly deviceSentence: string
}

export interface AdapterFile {
  /** 0 = the base. */
  readonly version: number
  /** null only for the base. One path per version, never rewritten. */
  readonly path: string | null
}

export type Lane = 'serve' | 'judge' | 'practise' | 'evaluate'

export interface GenerateRequest {
  readonly lane: Lane
  readonly promptIds: readonly number[]
  /** 'active' = whatever is live when the reply starts. */
  readonly adapter: AdapterFile | 'active'
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly minP: number
  readonly seed: number
  readonly maxTokens: number
  readonly signal?: AbortSignal
  /** The shared beginning of chats is kept under this key together with the adapter version. */
  readonly cacheKey?: string
  /** Called for each sampled token with the text that became complete with it (may be empty). */
  readonly onToken?: (token: SampledToken) => void
}

export interface SampledToken {
  readonly id: number
  /** Log-probability at the sampling temperature before truncation; null where it cannot be had. */
  readonly logProb: number | null
  readonly text: string
}

export interface Generation {
  readonly ids: readonly number[]
  /** One per id; null when truncation, penalties or T = 0 hide the full softmax. */
  readonly logProbs: readonly number[] | null
  readonly text: string
  readonly finish: 'stop' | 'length' | 'stopped'
  readonly version: number
  readonly promptTokens: number
  readonly timeToFirstTokenMs: number
  readonly tokensPerSecond: number
}

/** The log-probabilities of the next token after a prompt. */
export interface NextTokenScores {
  /** Natural log, by token id, full vocabulary, T = 1. */
  readonly logProbs: Float32Array
}

export interface Policy extends AsyncDisposable {
  info(): PolicyInfo
  /**
   * Renders with the model's own template; contents are tokenised apart from template pieces, so a typed
   * `<|im_end|>` stays text. Drops the oldest exchanges (never the system message, the first user message or
   * the last message) until `reserve` tokens remain; rejects with `too-large` when even that does not fit.
   */
  render(
    messages: readonly PromptMessage[],
    options: { readonly reserve: number; readonly continueWith?: string },
  ): RenderedPrompt
  /** Text of ids, special tokens left out. */
  textOf(ids: readonly number[]): string
  /** Text of one id for display, special tokens written out. */
  tokenText(id: number): string
  /** Ids of plain text, no special tokens are recognised in it. */
  idsOf(text: string): number[]
  generate(request: GenerateRequest): Promise<Generation>
  nextTokenScores(request: {
    readonly lane: Lane
    readonly promptIds: readonly number[]
    readonly adapter: AdapterFile
  }): Promise<NextTokenScores>
  /** Sum of log-probabilities of each continuation after the prompt, T = 1, base model, for `score` judging. */
  scoreContinuations(request: {
    readonly lane: Lane
    readonly promptIds: readonly number[]
    readonly continuations: readonly (readonly number[])[]
  }): Promise<number[]>
  /** Makes and warms the context of a version beside the running ones; needed before `activate`. */
  prepare(adapter: AdapterFile): Promise<void>
  /** New replies use it from now on; running replies finish where they began; unused contexts are disposed. */
  activate(adapter: AdapterFile): Promise<void>
  active(): AdapterFile
  /** Frees the context of a version that is not active and has no running reply. */
  release(version: number): Promise<void>
  setThreads(threads: number): void
  /** Replies running or waiting per lane. */
  load(): Readonly<Record<Lane, number>>
  onLoadChange(listener: () => void): () => void
}

export interface PolicyOptions {
  readonly modelPath: string
  /** 'auto' tries CUDA, Vulkan, Metal, then the CPU. */
  readonly device: 'auto' | 'cpu'
  readonly threads: number
  /** Tokens; default min(the model's own, 4096). */
  readonly contextSize?: number
}
