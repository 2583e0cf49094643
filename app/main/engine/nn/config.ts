// Reads a llama-architecture model's facts from GGUF metadata and checks the tensors it must have.
import { AppError } from '../../../shared/errors.ts'
import type { GgufFile, GgufTensorInfo } from '../gguf/reader.ts'
import type { ModelInfo, Projection } from '../types.ts'

const architectures = ['llama']

export const projections: readonly Projection[] = [
  'attn_q',
  'attn_k',
  'attn_v',
  'attn_output',
  'ffn_gate',
  'ffn_up',
  'ffn_down',
]

export function readModelInfo(file: GgufFile): ModelInfo {
  const architecture = readArchitecture(file)
  const key = (name: string): string => `${architecture}.${name}`
  const width = count(file, key('embedding_length'))
  const heads = count(file, key('attention.head_count'))
  const headSize = count(file, key('attention.key_length'), width / heads)
  refuseUnknownFeatures(file, { architecture, headSize })
  const info: ModelInfo = {
    architecture,
    layers: count(file, key('block_count')),
    width,
    feedForward: count(file, key('feed_forward_length')),
    heads,
    keyValueHeads: count(file, key('attention.head_count_kv'), heads),
    headSize,
    vocabulary: tensorOf(file, 'token_embd.weight').shape[1] ?? 0,
    contextLength: count(file, key('context_length')),
    ropeBase: real(file, key('rope.freq_base'), 10_000),
    normEpsilon: real(file, key('attention.layer_norm_rms_epsilon')),
    tiedHead: !file.tensors.has('output.weight'),
  }
  checkTensors(file, info)
  return info
}

function readArchitecture(file: GgufFile): string {
  const value = file.metadata.get('general.architecture')
  if (typeof value !== 'string') throw new AppError('corrupt', 'general.architecture is missing')
  if (!architectures.includes(value)) {
    throw new AppError(
      'unsupported',
      `the architecture "${value.slice(0, 40)}" needs a newer engine`,
    )
  }
  return value
}

/** Refuses what would silently be computed wrongly: scaled or partial rotary embeddings, experts. */
function refuseUnknownFeatures(
  file: GgufFile,
  { architecture, headSize }: { architecture: string; headSize: number },
): void {
  const rotated = count(file, `${architecture}.rope.dimension_count`, headSize)
  const scaling = file.metadata.get(`${architecture}.rope.scaling.type`) ?? 'none'
  const experts = file.metadata.get(`${architecture}.expert_count`) ?? 0
  const reasons = [
    rotated === headSize ? null : `a rotary embedding over ${rotated} of ${headSize} channels`,
    scaling === 'none' ? null : `scaled rotary embeddings (${JSON.stringify(scaling)})`,
    experts === 0 ? null : 'mixture of experts',
    headSize % 2 === 0 ? null : `a head size of ${headSize}`,
  ].filter((reason) => reason !== null)
  if (reasons.length === 0) return
  throw new AppError(
    'unsupported',
    `the model uses ${reasons.join(', ')}: this needs a newer engine`,
  )
}

function count(file: GgufFile, key: string, fallback?: number): number {
  const value = file.metadata.get(key) ?? fallback
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number > 0 && number < 2 ** 24) {
    return number
  }
  throw new AppError('corrupt', `${key} is not a positive whole number`)
}

function real(file: GgufFile, key: string, fallback?: number): number {
  const value = file.metadata.get(key) ?? fallback
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw new AppError('corrupt', `${key} is not a positive number`)
}

/** The stored tensor of a name; missing is an error. */
export function tensorOf(file: GgufFile, name: string): GgufTensorInfo {
  const tensor = file.tensors.get(name)
  if (tensor === undefined) throw new AppError('corrupt', `the tensor ${name} is missing`)
  return tensor
}

/** Inputs and outputs of a projection. */
export function projectionShape(info: ModelInfo, projection: Projection): [number, number] {
  const queries = info.heads * info.headSize
  const keys = info.keyValueHeads * info.headSize
  const shapes: Record<Projection, [number, number]> = {
    attn_q: [info.width, queries],
    attn_k: [info.width, keys],
    attn_v: [info.width, keys],
    attn_output: [queries, info.width],
    ffn_gate: [info.width, info.feedForward],
    ffn_up: [info.width, info.feedForward],
    ffn_down: [info.feedForward, info.width],
  }
  return shapes[projection]
}

export function projectionName(layer: number, projection: Projection): string {
  return `blk.${layer}.${projection}.weight`
}

function checkTensors(file: GgufFile, info: ModelInfo): void {
  if (info.layers > file.tensors.size) {
    throw new AppError('corrupt', `${info.layers} layers, but ${file.tensors.size} tensors`)
  }
  if (info.heads % info.keyValueHeads !== 0) {
    throw new AppError(
      'corrupt',
      `${info.heads} heads cannot share ${info.keyValueHeads} key heads`,
    )
  }
  const expected = new Map<string, readonly number[]>([
    ['token_embd.weight', [info.width, info.vocabulary]],
    ['output_norm.weight', [info.width]],
  ])
  if (!info.tiedHead) expected.set('output.weight', [info.width, info.vocabulary])
  for (let layer = 0; layer < info.layers; layer += 1) {
    expected.set(`blk.${layer}.attn_norm.weight`, [info.width])
    expected.set(`blk.${layer}.ffn_norm.weight`, [info.width])
    for (const projection of projections) {
      expected.set(projectionName(layer, projection), projectionShape(info, projection))
    }
  }
  for (const [name, shape] of expected) checkShape(tensorOf(file, name), shape)
  for (const name of file.tensors.keys()) {
    if (expected.has(name)) continue
    throw new AppError('unsupported', `the tensor ${name.slice(0, 80)} needs a newer engine`)
  }
}

function checkShape(tensor: GgufTensorInfo, shape: readonly number[]): void {
  if (String(tensor.shape) === String(shape)) return
  const message = `expected [${shape}] in ${tensor.name}, found [${tensor.shape}]`
  throw new AppError('corrupt', message)
}
