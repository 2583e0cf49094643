// The engine's door as types: what training may ask of it. Arrays are row-major; shapes stand in brackets
// with T tokens, R response positions, C model width, V vocabulary, K top entries, M gathered ids, r rank.

/** Facts read from the GGUF header of a loaded model. */
export interface ModelInfo {
  readonly architecture: string
  readonly layers: number
  readonly width: number
  readonly feedForward: number
  readonly heads: number
  readonly keyValueHeads: number
  readonly headSize: number
  readonly vocabulary: number
  readonly contextLength: number
  readonly ropeBase: number
  readonly normEpsilon: number
  readonly tiedHead: boolean
}

export type Projection =
  'attn_q' | 'attn_k' | 'attn_v' | 'attn_output' | 'ffn_gate' | 'ffn_up' | 'ffn_down'

/** One low-rank pair: the layer computes W·x + (alpha / rank)·B·(A·x). */
export interface AdapterTensor {
  /** GGUF name of the base weight, for instance `blk.3.attn_q.weight`. */
  readonly name: string
  readonly inFeatures: number
  readonly outFeatures: number
  /** A, [r, inFeatures]. */
  readonly a: Float32Array
  /** B, [outFeatures, r]. */
  readonly b: Float32Array
}

/** A LoRA adapter held in JavaScript memory. Whoever changes the numbers raises `revision`. */
export interface Adapter {
  readonly rank: number
  readonly alpha: number
  readonly tensors: readonly AdapterTensor[]
  revision: number
}

/** Sums of gradients, the same order and shapes as the adapter's tensors. */
export interface AdapterGradients {
  readonly tensors: readonly { readonly a: Float32Array; readonly b: Float32Array }[]
}

/**
 * Called between graph segments (each at most about 100 ms of work): resolves when work may go on,
 * with the number of threads to use from here, or rejects to abandon the call.
 */
export type YieldPoint = () => Promise<{ readonly threads: number }>

export interface SequenceRequest {
  /** The whole sequence, prompt then response, [T]. */
  readonly tokens: Int32Array
  /** Index of the first response token, 1 ≤ responseStart < T; R = T − responseStart. */
  readonly responseStart: number
  /** Logits are divided by this before the log-softmax; > 0. */
  readonly temperature: number
  /** null = the frozen base. */
  readonly adapter: Adapter | null
  readonly yieldPoint?: YieldPoint
}

export interface ScoreRequest extends SequenceRequest {
  /** How many of the likeliest tokens to return per position; 0 = none. */
  readonly topK?: number
  /** Extra ids whose log-probabilities are wanted, [R, M]. */
  readonly gatherIds?: Int32Array
}

export interface Score {
  /** Log-probability of each response token, nats, full vocabulary, [R]. */
  readonly sampled: Float32Array
  /** Log-probabilities at `gatherIds`, [R, M]; empty when none were asked for. */
  readonly gathered: Float32Array
  /** Ids of the likeliest tokens in falling order, ties by lower id, [R, K]. */
  readonly topIds: Int32Array
  /** Their log-probabilities, [R, K]. */
  readonly topLogProbs: Float32Array
  /** Final (normed) hidden states at the response positions, [R, C]; only from `hidden`-asking calls. */
  readonly hidden?: Float32Array
}

/**
 * A loss over gathered full-vocabulary log-probabilities. Gets `logProbs` [R, M] and returns the scalar
 * loss with its gradient d loss / d logProbs [R, M]. Must be pure.
 */
export type GatheredLoss = (logProbs: Float32Array) => {
  readonly loss: number
  readonly gradient: Float32Array
}

export interface BackwardRequest extends SequenceRequest {
  readonly adapter: Adapter
  /** Ids the loss looks at, [R, M]. An id may appear more than once in a row. */
  readonly gatherIds: Int32Array
  readonly loss: GatheredLoss
  /** Gradients are added here. */
  readonly gradients: AdapterGradients
}

export interface BackwardResult {
  readonly loss: number
  /** The gathered log-probabilities, [R, M]. */
  readonly gathered: Float32Array
}

export interface KlRequest extends SequenceRequest {
  /** The base model's final hidden states at the response positions, [R, C], from `hidden`. */
  readonly baseHidden: Float32Array
}

export interface KlBackwardRequest extends KlRequest {
  readonly adapter: Adapter
  /** Factor on d mean KL / d parameters. */
  readonly weight: number
  readonly gradients: AdapterGradients
}

/** A base model loaded for training. Calls run one at a time; a second waits for the first. */
export interface EngineModel extends AsyncDisposable {
  readonly info: ModelInfo
  /** A with standard deviation 1/rank from `seed`, B zero, on the seven projections of every layer. */
  createAdapter(options: {
    readonly rank: number
    readonly alpha: number
    readonly seed: number
  }): Adapter
  /** Reads a GGUF LoRA and checks base architecture, names, ranks, shapes and finite values. */
  readAdapter(path: string): Promise<Adapter>
  createGradients(adapter: Adapter): AdapterGradients
  /** What training on a sequence of `tokens`, the last `responseTokens` of them answered, needs at a rank. */
  memoryPlan(request: {
    readonly tokens: number
    readonly responseTokens: number
    readonly rank: number
  }): MemoryPlan
  /** Log-probabilities at the response positions, no gradient. */
  score(request: ScoreRequest): Promise<Score>
  /**
   * The same of several, in order. On our kernels neighbours with one adapter and temperature share passes, and what
   * their prompts begin with is computed once.
   */
  scoreAll(requests: readonly ScoreRequest[]): Promise<Score[]>
  /** Final hidden states at the response positions, [R, C]. */
  hidden(request: SequenceRequest): Promise<Float32Array>
  /** One forward and one backward pass. */
  backward(request: BackwardRequest): Promise<BackwardResult>
  /** The same of several, in order; on our kernels short neighbours share a pass. */
  backwardAll(requests: readonly BackwardRequest[]): Promise<BackwardResult[]>
  /** KL(base ‖ θ) per response position, nats, exact over the vocabulary, [R]. */
  kl(request: KlRequest): Promise<Float32Array>
  /** Adds weight · d mean_t KL(base ‖ θ); returns the mean KL before the weight. */
  klBackward(request: KlBackwardRequest): Promise<{ readonly kl: number }>
}

/** What a call needs, before anything is allocated. */
export interface MemoryPlan {
  readonly parts: readonly { readonly name: string; readonly bytes: number }[]
  /** Sum of the parts. */
  readonly totalBytes: number
  /** Of that, what is not allocated yet. */
  readonly neededBytes: number
  readonly availableBytes: number
  readonly fits: boolean
  /** Layers' values are computed again in backward instead of kept. */
  readonly recomputes: boolean
}

export interface EngineOptions {
  /** Folder of the ggml libraries; default: those that node-llama-cpp ships for this machine. */
  readonly libraryDir?: string
  readonly threads: number
  /**
   * Most memory for values kept between forward and backward; a longer sequence computes them again, layer by
   * layer, which costs a third more work. Default: 768 MiB (1,000 tokens of the 135M model) or a quarter of what is
   * free, and nothing where even that does not fit.
   */
  readonly keptBytes?: number
  /** Bytes that may still be allocated, asked before each allocation; default: what the system has free. */
  readonly availableBytes?: () => number
  /**
   * `f32` (default) = the reference on ggml. `native` = our own compiled kernels, whose products may round their
   * factors to bf16 (0.013 nat on the default model); where none can be compiled or run, the same as `f32`, with the
   * reason in `backend`.
   */
  readonly precision?: 'f32' | 'native'
  /** Where compiled kernels are kept; default: Hone's folder in the user's cache. */
  readonly kernelCacheDir?: string
  /**
   * Default `cpu`. A GPU kind: its first device that agrees with the CPU on a test model; `auto`: of any kind, but no
   * integrated one. Where there is none, the CPU, with the reason in `backend`.
   */
  readonly device?: 'cpu' | 'auto' | GpuKind
}

export type GpuKind = 'cuda' | 'vulkan' | 'metal'

/** One device, or one kind of GPU that is missing (then without name and memory). */
export interface DeviceInfo {
  readonly kind: 'cpu' | GpuKind
  readonly name: string | null
  readonly memory: { readonly freeBytes: number; readonly totalBytes: number } | null
  readonly trains: boolean
  /** Why training cannot use it. */
  readonly reason: string | null
}

/** ggml loaded through koffi. */
export interface Engine extends AsyncDisposable {
  readonly backend: {
    readonly name: string
    readonly libraryVersion: string
    /** Instruction set of the kernels that run, for instance `AVX512`; null = ggml's. */
    readonly kernels: string | null
    /** Why no own kernels run. */
    readonly kernelsReason: string | null
    readonly device: 'cpu' | GpuKind
    /** Why a GPU that was asked for is not used. */
    readonly deviceReason: string | null
  }
  setThreads(threads: number): void
  /** Loads all weights. Rejects with `unsupported` for an unknown architecture, `corrupt` for bad files. */
  loadModel(path: string): Promise<EngineModel>
  /** Native objects alive (contexts, buffers, graphs, pools); 0 after everything was disposed. */
  liveHandles(): number
}
