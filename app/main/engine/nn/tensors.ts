// The tensors that a model file holds, by architecture: names and shapes, checked before any is loaded. One that
// is missing or too many is an error, since it would change what is computed.
import { AppError } from '../../../shared/errors.ts'
import type { GgufFile, GgufTensorInfo } from '../gguf/reader.ts'
import type { ModelInfo, Projection } from '../types.ts'
import type { ModelConfig } from './config.ts'

export const projections: readonly Projection[] = [
  'attn_q',
  'attn_k',
  'attn_v',
  'attn_output',
  'ffn_gate',
  'ffn_up',
  'ffn_down',
]

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

export const frequencyFactorsName = 'rope_freqs.weight'

/** Norms of a layer: their names in the file after `blk.N.`, null where the architecture has none. */
export function normNames({ design }: Pick<ModelConfig, 'design'>) {
  return {
    attentionNorm: 'attn_norm',
    feedForwardNorm: 'ffn_norm',
    queryNorm: design.headNorms ? 'attn_q_norm' : null,
    keyNorm: design.headNorms ? 'attn_k_norm' : null,
    attentionPostNorm: design.postNorms ? 'post_attention_norm' : null,
    feedForwardPostNorm: design.postNorms ? 'post_ffw_norm' : null,
  } as const
}

/** Channels that a norm covers. */
export function normWidth(config: ModelConfig, norm: keyof ReturnType<typeof normNames>): number {
  return norm === 'queryNorm' || norm === 'keyNorm' ? config.headSize : config.width
}

/** Projections with a bias. */
export function biasedProjections({ design }: Pick<ModelConfig, 'design'>): readonly Projection[] {
  return design.biases ? ['attn_q', 'attn_k', 'attn_v'] : []
}

export function biasName(layer: number, projection: Projection): string {
  return `blk.${layer}.${projection}.bias`
}

export function checkTensors(file: GgufFile, config: ModelConfig): void {
  if (config.heads % config.keyValueHeads !== 0) {
    throw new AppError(
      'corrupt',
      `${config.heads} heads cannot share ${config.keyValueHeads} key heads`,
    )
  }
  const expected = expectedTensors(config)
  for (const [name, shape] of expected) checkShape(tensorOf(file, name), shape)
  for (const name of file.tensors.keys()) {
    if (expected.has(name)) continue
    throw new AppError('unsupported', `the tensor ${name.slice(0, 80)} needs a newer engine`)
  }
}

function expectedTensors(config: ModelConfig): Map<string, readonly number[]> {
  const expected = new Map<string, readonly number[]>([
    ['token_embd.weight', [config.width, config.vocabulary]],
    ['output_norm.weight', [config.width]],
  ])
  if (!config.tiedHead) expected.set('output.weight', [config.width, config.vocabulary])
  if (config.hasFrequencyFactors) expected.set(frequencyFactorsName, [config.headSize / 2])
  const norms = Object.entries(normNames(config)) as [keyof ReturnType<typeof normNames>, string][]
  for (let layer = 0; layer < config.layers; layer += 1) {
    for (const [norm, name] of norms) {
      if (name !== null) expected.set(`blk.${layer}.${name}.weight`, [normWidth(config, norm)])
    }
    for (const projection of projections) {
      expected.set(projectionName(layer, projection), projectionShape(config, projection))
    }
    for (const projection of biasedProjections(config)) {
      const [, outputs] = projectionShape(config, projection)
      expected.set(biasName(layer, projection), [outputs])
    }
  }
  return expected
}

function checkShape(tensor: GgufTensorInfo, shape: readonly number[]): void {
  if (String(tensor.shape) === String(shape)) return
  const message = `expected [${shape}] in ${tensor.name}, found [${tensor.shape}]`
  throw new AppError('corrupt', message)
}
