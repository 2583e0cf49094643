// The tiny random models of test/fixtures/numerics/reference_models.py as f32 GGUF files, in the layout of each
// architecture, with a vocabulary, so that node-llama-cpp loads them too.
import {
  writeGguf,
  type GgufEntry,
  type GgufWriteTensor,
} from '../../app/main/engine/gguf/writer.ts'
import { randomTensor } from './random-tensors.ts'

export interface TinyConfig {
  /** Default: llama. */
  readonly architecture?: string
  readonly layers: number
  readonly width: number
  readonly ff: number
  readonly heads: number
  readonly kv: number
  readonly vocab: number
  readonly base: number
  readonly eps: number
  readonly context: number
  /** Default: width / heads. */
  readonly headSize?: number
  /** Default: true. */
  readonly tied?: boolean
  /** Keys that a query of most layers sees; every `pattern`-th layer sees all. */
  readonly window?: number
  readonly pattern?: number
  /** By what the positions of layers that see all keys are divided. */
  readonly ropeScaling?: number
  /** Divisors of the rotary frequencies. */
  readonly ropeFactors?: readonly number[]
}

export const tinyConfig: TinyConfig = {
  layers: 2,
  width: 64,
  ff: 96,
  heads: 4,
  kv: 2,
  vocab: 256,
  base: 10_000,
  eps: 1e-5,
  context: 256,
}

/** Writes a tiny random model as an f32 GGUF file. */
export async function writeTinyModel(file: string, config: TinyConfig = tinyConfig): Promise<void> {
  const u32 = (value: number): GgufEntry => ({ type: 'uint32', value })
  const f32 = (value: number): GgufEntry => ({ type: 'float32', value })
  const { architecture, headSize } = sizesOf(config)
  const own: [string, GgufEntry][] = [
    ['block_count', u32(config.layers)],
    ['context_length', u32(config.context)],
    ['embedding_length', u32(config.width)],
    ['feed_forward_length', u32(config.ff)],
    ['attention.head_count', u32(config.heads)],
    ['attention.head_count_kv', u32(config.kv)],
    ['rope.dimension_count', u32(headSize)],
    ['rope.freq_base', f32(config.base)],
    ['attention.layer_norm_rms_epsilon', f32(config.eps)],
  ]
  if (config.headSize !== undefined) {
    own.push(['attention.key_length', u32(headSize)], ['attention.value_length', u32(headSize)])
  }
  const { window, pattern, ropeScaling } = config
  if (window !== undefined) own.push(['attention.sliding_window', u32(window)])
  if (pattern !== undefined) own.push(['attention.sliding_window_pattern', u32(pattern)])
  if (ropeScaling !== undefined) {
    own.push(['rope.scaling.type', { type: 'string', value: 'linear' }])
    own.push(['rope.scaling.factor', f32(ropeScaling)])
  }
  const metadata = new Map<string, GgufEntry>([
    ['general.architecture', { type: 'string', value: architecture }],
    ...own.map(([key, value]) => [`${architecture}.${key}`, value] as const),
    ...tinyVocabulary(config.vocab),
  ])
  await writeGguf(file, { metadata, tensors: tinyTensors(config) })
}

function sizesOf(config: TinyConfig): { architecture: string; headSize: number } {
  const { architecture = 'llama', headSize = config.width / config.heads } = config
  return { architecture, headSize }
}

/** A byte-per-token vocabulary, so that node-llama-cpp loads the file too. */
function tinyVocabulary(size: number): [string, GgufEntry][] {
  const tokens = Array.from({ length: size }, (_, id) => (id < 3 ? `<special${id}>` : `<t${id}>`))
  // Token kinds of llama.cpp: 1 normal, 3 control.
  const kinds = Int32Array.from({ length: size }, (_, id) => (id < 3 ? 3 : 1))
  return [
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'default' }],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: kinds }],
    ['tokenizer.ggml.merges', { type: 'strings', value: ['< t'] }],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: 1 }],
    ['tokenizer.ggml.eos_token_id', { type: 'uint32', value: 2 }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ]
}

/** Norms of a layer over the whole width and over each head, and projections with a bias. */
const tinyParts: Readonly<
  Record<string, { norms: readonly string[]; headNorms: readonly string[]; biased: boolean }>
> = {
  llama: { norms: ['attn_norm', 'ffn_norm'], headNorms: [], biased: false },
  qwen2: { norms: ['attn_norm', 'ffn_norm'], headNorms: [], biased: true },
  qwen3: {
    norms: ['attn_norm', 'ffn_norm'],
    headNorms: ['attn_q_norm', 'attn_k_norm'],
    biased: false,
  },
  gemma3: {
    norms: ['attn_norm', 'post_attention_norm', 'ffn_norm', 'post_ffw_norm'],
    headNorms: ['attn_q_norm', 'attn_k_norm'],
    biased: false,
  },
}

function tinyTensors(config: TinyConfig): GgufWriteTensor[] {
  const { width, vocab } = config
  const whole = (name: string): GgufWriteTensor => {
    return {
      name,
      shape: [width, vocab],
      data: randomTensor(name, vocab * width, { scale: 0.3 }),
    }
  }
  const factors = Float32Array.from(config.ropeFactors ?? [])
  return [
    whole('token_embd.weight'),
    randomVector('output_norm.weight', width, { scale: 0.1, offset: 1 }),
    ...(config.tied === false ? [whole('output.weight')] : []),
    ...(factors.length === 0
      ? []
      : [{ name: 'rope_freqs.weight', shape: [factors.length], data: factors }]),
    ...Array.from({ length: config.layers }, (_, layer) => tinyLayer(config, layer)).flat(),
  ]
}

function randomVector(
  name: string,
  size: number,
  options: { scale: number; offset?: number },
): GgufWriteTensor {
  return { name, shape: [size], data: randomTensor(name, size, options) }
}

function tinyLayer(config: TinyConfig, layer: number): GgufWriteTensor[] {
  const { width, ff } = config
  const { architecture, headSize } = sizesOf(config)
  const parts = tinyParts[architecture]
  if (parts === undefined) throw new Error(`no tiny ${architecture}`)
  const [queries, keys] = [headSize * config.heads, headSize * config.kv]
  const shapes: Record<string, readonly [number, number]> = {
    attn_q: [width, queries],
    attn_k: [width, keys],
    attn_v: [width, keys],
    attn_output: [queries, width],
    ffn_gate: [width, ff],
    ffn_up: [width, ff],
    ffn_down: [ff, width],
  }
  const named = (part: string): string => `blk.${layer}.${part}`
  const norm = (part: string, size: number): GgufWriteTensor =>
    randomVector(named(`${part}.weight`), size, { scale: 0.1, offset: 1 })
  const biased = parts.biased ? ['attn_q', 'attn_k', 'attn_v'] : []
  return [
    ...parts.norms.map((part) => norm(part, width)),
    ...parts.headNorms.map((part) => norm(part, headSize)),
    ...Object.entries(shapes).map(([projection, shape]): GgufWriteTensor => {
      const name = named(`${projection}.weight`)
      const scale = Math.sqrt(3 / shape[0])
      return { name, shape, data: randomTensor(name, shape[0] * shape[1], { scale }) }
    }),
    ...biased.map((part) =>
      randomVector(named(`${part}.bias`), shapes[part]?.[1] ?? 0, { scale: 0.5 }),
    ),
  ]
}
