// The TypeScript side of test/fixtures/numerics/make_reference.py: the same integer generator, the tiny model as
// a GGUF file, adapters with random B, and the recorded cases.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  writeGguf,
  type GgufEntry,
  type GgufWriteTensor,
} from '../../app/main/engine/gguf/writer.ts'
import { scramble } from '../../app/main/engine/random.ts'
import type { Adapter, AdapterTensor, GatheredLoss } from '../../app/main/engine/types.ts'

const golden = 0x9e3779b9

/** FNV-1a, 32 bits. */
function seedOf(name: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(name)) value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}

/** Numbers in [−1, 1) that depend on the name alone. */
export function uniformOf(name: string, count: number): Float64Array {
  const seed = seedOf(name)
  return Float64Array.from({ length: count }, (_, i) => {
    const state = (seed + Math.imul(i + 1, golden)) >>> 0
    return scramble(state) / 2 ** 31 - 1
  })
}

export function randomTensor(
  name: string,
  count: number,
  options: { scale: number; offset?: number },
): Float32Array {
  const { scale, offset = 0 } = options
  return Float32Array.from(uniformOf(name, count), (value) => offset + scale * value)
}

export interface TinyConfig {
  readonly layers: number
  readonly width: number
  readonly ff: number
  readonly heads: number
  readonly kv: number
  readonly vocab: number
  readonly base: number
  readonly eps: number
  readonly context: number
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

/** Writes the tiny random llama as an f32 GGUF file. */
export async function writeTinyModel(file: string, config: TinyConfig = tinyConfig): Promise<void> {
  const u32 = (value: number): GgufEntry => ({ type: 'uint32', value })
  const f32 = (value: number): GgufEntry => ({ type: 'float32', value })
  const metadata = new Map<string, GgufEntry>([
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['llama.block_count', u32(config.layers)],
    ['llama.context_length', u32(config.context)],
    ['llama.embedding_length', u32(config.width)],
    ['llama.feed_forward_length', u32(config.ff)],
    ['llama.attention.head_count', u32(config.heads)],
    ['llama.attention.head_count_kv', u32(config.kv)],
    ['llama.rope.dimension_count', u32(config.width / config.heads)],
    ['llama.rope.freq_base', f32(config.base)],
    ['llama.attention.layer_norm_rms_epsilon', f32(config.eps)],
    ...tinyVocabulary(config.vocab),
  ])
  await writeGguf(file, { metadata, tensors: tinyTensors(config) })
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

function tinyTensors(config: TinyConfig): GgufWriteTensor[] {
  const { width, ff, vocab } = config
  const keys = (width / config.heads) * config.kv
  const shapes: Record<string, readonly [number, number]> = {
    attn_q: [width, width],
    attn_k: [width, keys],
    attn_v: [width, keys],
    attn_output: [width, width],
    ffn_gate: [width, ff],
    ffn_up: [width, ff],
    ffn_down: [ff, width],
  }
  const normTensor = (name: string): GgufWriteTensor => {
    return { name, shape: [width], data: randomTensor(name, width, { scale: 0.1, offset: 1 }) }
  }
  const embedding = randomTensor('token_embd.weight', vocab * width, { scale: 0.3 })
  const layers = Array.from({ length: config.layers }, (_, layer) => [
    normTensor(`blk.${layer}.attn_norm.weight`),
    normTensor(`blk.${layer}.ffn_norm.weight`),
    ...Object.entries(shapes).map(([projection, shape]): GgufWriteTensor => {
      const name = `blk.${layer}.${projection}.weight`
      const scale = Math.sqrt(3 / shape[0])
      return { name, shape, data: randomTensor(name, shape[0] * shape[1], { scale }) }
    }),
  ])
  return [
    { name: 'token_embd.weight', shape: [width, vocab], data: embedding },
    normTensor('output_norm.weight'),
    ...layers.flat(),
  ]
}

/** Fills an adapter with the reference's numbers, B not zero. */
export function fillReferenceAdapter(adapter: Adapter, bScale: number): Adapter {
  for (const tensor of adapter.tensors) {
    const scale = Math.sqrt(3 / adapter.rank)
    tensor.a.set(randomTensor(`${tensor.name}.lora_a`, tensor.a.length, { scale }))
    tensor.b.set(randomTensor(`${tensor.name}.lora_b`, tensor.b.length, { scale: bScale }))
  }
  adapter.revision += 1
  return adapter
}

export interface ReferenceCase {
  readonly tokens: readonly number[]
  readonly responseStart: number
  readonly temperature: number
  readonly idsPerRow: number
  readonly gatherIds: readonly number[]
  readonly advantages: readonly number[]
  readonly weights: readonly number[]
  readonly old: readonly number[]
}

export interface Reference<Gradient> {
  readonly rank: number
  readonly alpha: number
  readonly bScale: number
  readonly case: ReferenceCase
  readonly loss: number
  readonly logProbs: readonly number[]
  readonly topIds: readonly number[]
  readonly gradients: Readonly<Record<string, Gradient>>
  readonly kl: readonly number[]
  readonly klGradients: Readonly<Record<string, Gradient>>
}

export interface TinyReference extends Reference<string> {
  readonly adamw: {
    readonly learningRate: number
    readonly losses: readonly number[]
    readonly norms: readonly number[]
    readonly final: Readonly<Record<string, string>>
  }
}

export interface ModelReference extends Reference<readonly number[]> {
  readonly projections: number
}

export function readReference<T extends Reference<unknown>>(name: string): T {
  const file = path.resolve(import.meta.dirname, '../fixtures/numerics', `${name}.json`)
  return JSON.parse(readFileSync(file, 'utf8')) as T
}

export function decodeFloats(text: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)
}

/** mean_r [ −A_r exp(l_r0 − old_r) + Σ_m w_rm l_rm² / 10 ] over m ≥ 1, with its gradient. */
export function referenceLoss(reference: ReferenceCase): GatheredLoss {
  const { idsPerRow: M, advantages, weights, old } = reference
  const rows = advantages.length
  return (logProbs) => {
    const gradient = new Float32Array(logProbs.length)
    let loss = 0
    for (let row = 0; row < rows; row += 1) {
      const ratio = Math.exp((logProbs[row * M] ?? NaN) - (old[row] ?? NaN))
      const surrogate = -(advantages[row] ?? NaN) * ratio
      loss += surrogate
      gradient[row * M] = surrogate / rows
      for (let m = 1; m < M; m += 1) {
        const value = logProbs[row * M + m] ?? NaN
        const weight = weights[row * (M - 1) + m - 1] ?? NaN
        loss += (weight * value * value) / 10
        gradient[row * M + m] = (weight * value) / 5 / rows
      }
    }
    return { loss: loss / rows, gradient }
  }
}

/** ‖found − expected‖ / ‖expected‖. */
export function relativeDifference(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = 0
  let size = 0
  for (let i = 0; i < expected.length; i += 1) {
    difference += ((found[i] ?? NaN) - (expected[i] ?? NaN)) ** 2
    size += (expected[i] ?? NaN) ** 2
  }
  return Math.sqrt(difference / size)
}

/** Both halves of every pair under their file names. */
export function halvesOf(
  adapter: Adapter,
  values: readonly { readonly a: Float32Array; readonly b: Float32Array }[] = adapter.tensors,
): { readonly name: string; readonly values: Float32Array }[] {
  return adapter.tensors.flatMap((tensor: AdapterTensor, i) => {
    const pair = values[i]
    if (pair === undefined) throw new Error(`no values for ${tensor.name}`)
    return [
      { name: `${tensor.name}.lora_a`, values: pair.a },
      { name: `${tensor.name}.lora_b`, values: pair.b },
    ]
  })
}
