// Valid files to start from: a model of each architecture, an adapter, every kind of metadata, and one larger than a read window.
import {
  encodeGguf,
  type GgufEntry,
  type GgufWriteTensor,
} from '../../../app/main/engine/gguf/writer.ts'
import { architectures, type Architecture } from '../../../app/main/engine/nn/architectures.ts'
import {
  biasedProjections,
  biasName,
  frequencyFactorsName,
  normNames,
  projectionName,
  projections,
  projectionShape,
} from '../../../app/main/engine/nn/tensors.ts'
import type { ModelInfo } from '../../../app/main/engine/types.ts'

/** The smallest model that has everything: grouped heads, an untied head, two layers. */
export const fuzzModel: ModelInfo = {
  architecture: 'llama',
  layers: 2,
  width: 8,
  feedForward: 6,
  heads: 2,
  keyValueHeads: 1,
  headSize: 4,
  vocabulary: 5,
  contextLength: 16,
  ropeBase: 10_000,
  normEpsilon: 1e-5,
  tiedHead: false,
}

const rank = 2
/** More than the reader fetches at once, so that its window moves. */
const largeBytes = 300_000

const text = (value: string): GgufEntry => ({ type: 'string', value })
const u32 = (value: number): GgufEntry => ({ type: 'uint32', value })
const f32 = (value: number): GgufEntry => ({ type: 'float32', value: Math.fround(value) })

export interface FuzzSeed {
  readonly name: string
  /** Larger than what is read at once, and slow: used seldom. */
  readonly isLarge: boolean
  readonly bytes: Uint8Array
}

export function fuzzSeeds(): FuzzSeed[] {
  const models = [...architectures].map(([name, design]) => ({
    name,
    isLarge: false,
    bytes: encode(modelMetadata(name), modelTensors(design)),
  }))
  const kinds = encode(kindsMetadata(), [filled('only', [3, 2, 2])])
  return [
    ...models,
    { name: 'adapter', isLarge: false, bytes: encode(adapterMetadata(), adapterTensors()) },
    { name: 'kinds', isLarge: false, bytes: kinds },
    { name: 'large', isLarge: true, bytes: encode(largeMetadata(), [filled('only', [4])]) },
  ]
}

function encode(metadata: [string, GgufEntry][], tensors: GgufWriteTensor[]): Uint8Array {
  return Buffer.concat([...encodeGguf({ metadata: new Map(metadata), tensors })])
}

function filled(name: string, shape: readonly number[]): GgufWriteTensor {
  const length = shape.reduce((product, size) => product * size, 1)
  return { name, shape, data: Float32Array.from({ length }, (_, i) => Math.sin(i + 1)) }
}

/** Also the keys that only some architectures know, so that each is read with every kind of value. */
function modelMetadata(name: string): [string, GgufEntry][] {
  return [
    ['general.architecture', text(name)],
    [`${name}.block_count`, u32(fuzzModel.layers)],
    [`${name}.context_length`, u32(fuzzModel.contextLength)],
    [`${name}.embedding_length`, u32(fuzzModel.width)],
    [`${name}.feed_forward_length`, u32(fuzzModel.feedForward)],
    [`${name}.attention.head_count`, u32(fuzzModel.heads)],
    [`${name}.attention.head_count_kv`, u32(fuzzModel.keyValueHeads)],
    [`${name}.attention.key_length`, u32(fuzzModel.headSize)],
    [`${name}.attention.value_length`, u32(fuzzModel.headSize)],
    [`${name}.attention.layer_norm_rms_epsilon`, f32(fuzzModel.normEpsilon)],
    [`${name}.attention.sliding_window`, u32(4)],
    [`${name}.attention.sliding_window_pattern`, u32(2)],
    [`${name}.rope.dimension_count`, u32(fuzzModel.headSize)],
    [`${name}.rope.freq_base`, f32(fuzzModel.ropeBase)],
    [`${name}.rope.freq_base_swa`, f32(fuzzModel.ropeBase)],
    [`${name}.rope.scaling.type`, text('linear')],
    [`${name}.rope.scaling.factor`, f32(2)],
    [`${name}.rope.scaling.attn_factor`, f32(1)],
    [`${name}.expert_count`, u32(0)],
    [`${name}.final_logit_softcapping`, f32(0)],
    ['tokenizer.ggml.tokens', { type: 'strings', value: ['a', 'b', '\uFEFF', '—', ''] }],
  ]
}

function modelTensors(design: Architecture): GgufWriteTensor[] {
  const { width, vocabulary, layers, headSize } = fuzzModel
  const norms = Object.entries(normNames({ design })) as [string, string | null][]
  const layer = (index: number): GgufWriteTensor[] => [
    ...norms.flatMap(([norm, name]) => {
      const size = norm === 'queryNorm' || norm === 'keyNorm' ? headSize : width
      return name === null ? [] : [filled(`blk.${index}.${name}.weight`, [size])]
    }),
    ...projections.map((projection) =>
      filled(projectionName(index, projection), projectionShape(fuzzModel, projection)),
    ),
    ...biasedProjections({ design }).map((projection) =>
      filled(biasName(index, projection), [projectionShape(fuzzModel, projection)[1]]),
    ),
  ]
  return [
    filled('token_embd.weight', [width, vocabulary]),
    filled('output_norm.weight', [width]),
    filled('output.weight', [width, vocabulary]),
    ...(design.frequencyFactors ? [filled(frequencyFactorsName, [headSize / 2])] : []),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
  ]
}

function adapterMetadata(): [string, GgufEntry][] {
  return [
    ['general.type', text('adapter')],
    ['general.architecture', text(fuzzModel.architecture)],
    ['adapter.type', text('lora')],
    ['adapter.lora.alpha', f32(4)],
  ]
}

function adapterTensors(): GgufWriteTensor[] {
  return Array.from({ length: fuzzModel.layers }, (_, layer) =>
    projections.flatMap((projection) => {
      const [inputs, outputs] = projectionShape(fuzzModel, projection)
      const name = projectionName(layer, projection)
      return [filled(`${name}.lora_a`, [inputs, rank]), filled(`${name}.lora_b`, [rank, outputs])]
    }),
  ).flat()
}

function kindsMetadata(): [string, GgufEntry][] {
  return [
    ['a string', text('naïve — 文字')],
    ['a number', u32(2 ** 32 - 1)],
    ['a real', f32(-0)],
    ['a truth', { type: 'bool', value: true }],
    ['strings', { type: 'strings', value: ['', 'x', 'yz'] }],
    ['integers', { type: 'int32s', value: Int32Array.of(-1, 0, 2 ** 31 - 1) }],
    ['reals', { type: 'float32s', value: Float32Array.of(NaN, Infinity, 1e-40) }],
  ]
}

function largeMetadata(): [string, GgufEntry][] {
  return [
    ['long', text('ab'.repeat(largeBytes / 2))],
    ['many', { type: 'strings', value: Array.from({ length: 40 }, () => 'c'.repeat(2000)) }],
    ['zeros', { type: 'float32s', value: new Float32Array(50_000) }],
  ]
}
