// The model of the device test: two llama layers of random numbers as a GGUF file, written where the caller says.
import type { RandomSource } from '../random.ts'
import { writeGguf, type GgufEntry, type GgufWriteTensor } from '../gguf/writer.ts'

/** Small, but with grouped heads, rows that are no multiple of a tile, and a context of several attention blocks. */
export const testModel = {
  layers: 2,
  width: 64,
  feedForward: 96,
  heads: 4,
  keyValueHeads: 2,
  vocabulary: 250,
  context: 640,
} as const

export async function writeTestModel(file: string, random: RandomSource): Promise<void> {
  const u32 = (value: number): GgufEntry => ({ type: 'uint32', value })
  const metadata = new Map<string, GgufEntry>([
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['llama.block_count', u32(testModel.layers)],
    ['llama.context_length', u32(testModel.context)],
    ['llama.embedding_length', u32(testModel.width)],
    ['llama.feed_forward_length', u32(testModel.feedForward)],
    ['llama.attention.head_count', u32(testModel.heads)],
    ['llama.attention.head_count_kv', u32(testModel.keyValueHeads)],
    ['llama.attention.layer_norm_rms_epsilon', { type: 'float32', value: 1e-5 }],
  ])
  await writeGguf(file, { metadata, tensors: testTensors(random) })
}

function testTensors(random: RandomSource): GgufWriteTensor[] {
  const { width, feedForward, vocabulary } = testModel
  const keys = (width / testModel.heads) * testModel.keyValueHeads
  const fill = (count: number, make: () => number): Float32Array =>
    Float32Array.from({ length: count }, make)
  /** Outputs keep the size of the inputs, as in a trained model. */
  const matrix = (name: string, inputs: number, outputs: number): GgufWriteTensor => {
    const deviation = 1 / Math.sqrt(inputs)
    const data = fill(inputs * outputs, () => random.normal() * deviation)
    return { name, shape: [inputs, outputs], data }
  }
  const norm = (name: string): GgufWriteTensor => {
    return { name, shape: [width], data: fill(width, () => 1 + 0.1 * random.normal()) }
  }
  const layers = Array.from({ length: testModel.layers }, (_, layer) => [
    norm(`blk.${layer}.attn_norm.weight`),
    norm(`blk.${layer}.ffn_norm.weight`),
    matrix(`blk.${layer}.attn_q.weight`, width, width),
    matrix(`blk.${layer}.attn_k.weight`, width, keys),
    matrix(`blk.${layer}.attn_v.weight`, width, keys),
    matrix(`blk.${layer}.attn_output.weight`, width, width),
    matrix(`blk.${layer}.ffn_gate.weight`, width, feedForward),
    matrix(`blk.${layer}.ffn_up.weight`, width, feedForward),
    matrix(`blk.${layer}.ffn_down.weight`, feedForward, width),
  ])
  const embedding = matrix('token_embd.weight', width, vocabulary)
  return [embedding, norm('output_norm.weight'), ...layers.flat()]
}
