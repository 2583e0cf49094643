// The architectures that the engine computes, as data: layer.ts is one for all and asks only these facts. What
// each stands for was read from the graphs of the llama.cpp that serves (src/models in node-llama-cpp's bundle).

/** Which channels rotate together: neighbours, or channel i and i + D / 2. */
export type RopeStyle = 'pairs' | 'halves'

/** The activation of the gate; gelu is its tanh form. */
export type Activation = 'silu' | 'gelu'

export interface Architecture {
  readonly rope: RopeStyle
  readonly activation: Activation
  /** The projections to q, k and v have biases. */
  readonly biases: boolean
  /** q and k are normed head by head before they are rotated. */
  readonly headNorms: boolean
  /** The output of attention and of the feed-forward part is normed before it joins the residual. */
  readonly postNorms: boolean
  /** Embeddings are multiplied by the square root of the width. */
  readonly scaledEmbedding: boolean
  /** The file may hold divisors of the rotary frequencies, `rope_freqs.weight`. */
  readonly frequencyFactors: boolean
  /** Layers that see only the last keys, where the file names a window. */
  readonly window: WindowPattern | null
  /** Metadata that would change the result in a way not computed here, unless absent or zero. */
  readonly unknownKeys: readonly string[]
  /** Numbers of layers for which llama.cpp computes something else. */
  readonly unknownLayerCounts: readonly number[]
}

export interface WindowPattern {
  /** Every so-manieth layer sees all keys, unless the file says otherwise. */
  readonly period: number
  /** Rotary base of the layers with a window, unless the file says otherwise. */
  readonly ropeBase: number
}

const plain: Architecture = {
  rope: 'halves',
  activation: 'silu',
  biases: false,
  headNorms: false,
  postNorms: false,
  scaledEmbedding: false,
  frequencyFactors: false,
  window: null,
  unknownKeys: [],
  unknownLayerCounts: [],
}

export const architectures: ReadonlyMap<string, Architecture> = new Map([
  ['llama', { ...plain, rope: 'pairs', frequencyFactors: true }],
  ['qwen2', { ...plain, biases: true }],
  ['qwen3', { ...plain, headNorms: true }],
  [
    'gemma3',
    {
      ...plain,
      activation: 'gelu',
      headNorms: true,
      postNorms: true,
      scaledEmbedding: true,
      window: { period: 6, ropeBase: 10_000 },
      unknownKeys: ['final_logit_softcapping'],
      // The 27B model, known by its layers, scales its queries by width and heads instead of head size.
      unknownLayerCounts: [62],
    },
  ],
])
