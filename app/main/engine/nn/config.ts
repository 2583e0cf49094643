// Reads a model's facts from GGUF metadata, and refuses what would silently be computed wrongly. Keys and their
// defaults are llama.cpp's (src/llama-arch.cpp, src/llama-model.cpp), since that is what serves the model.
import { AppError } from '../../../shared/errors.ts'
import type { GgufFile, GgufValue } from '../gguf/reader.ts'
import type { ModelInfo } from '../types.ts'
import { architectures, type Architecture } from './architectures.ts'
import { checkTensors, frequencyFactorsName, tensorOf } from './tensors.ts'

/** A model's facts and what the layers need to know of its architecture. */
export interface ModelConfig extends ModelInfo {
  readonly design: Architecture
  readonly hasFrequencyFactors: boolean
  readonly embeddingScale: number
  /** Factor on the scores before their softmax. */
  readonly attentionScale: number
  /** Layer by layer. */
  readonly attention: readonly LayerAttention[]
}

export interface LayerAttention {
  /** Keys that a query sees, itself included; null = all before it. */
  readonly window: number | null
  readonly ropeBase: number
  /** Factor on all positions. */
  readonly ropeScale: number
}

export function readModelInfo(file: GgufFile): ModelConfig {
  const { architecture, design } = readArchitecture(file)
  const key = (name: string): string => `${architecture}.${name}`
  const width = count(file, key('embedding_length'))
  const heads = count(file, key('attention.head_count'))
  const headSize = count(file, key('attention.key_length'), width / heads)
  const layers = readLayers(file, key('block_count'))
  const subject = { architecture, design, headSize, layers }
  refuseUnknownFeatures(file, subject)
  const config: ModelConfig = {
    architecture,
    layers,
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
    design,
    hasFrequencyFactors: design.frequencyFactors && file.tensors.has(frequencyFactorsName),
    embeddingScale: design.scaledEmbedding ? Math.sqrt(width) : 1,
    attentionScale: 1 / Math.sqrt(headSize),
    attention: readAttention(file, subject),
  }
  checkTensors(file, config)
  return config
}

function readArchitecture(file: GgufFile): { architecture: string; design: Architecture } {
  const architecture = file.metadata.get('general.architecture')
  if (typeof architecture !== 'string') {
    throw new AppError('corrupt', 'general.architecture is missing')
  }
  const design = architectures.get(architecture)
  if (design !== undefined) return { architecture, design }
  throw new AppError(
    'unsupported',
    `the architecture "${architecture.slice(0, 40)}" needs a newer engine`,
  )
}

function readLayers(file: GgufFile, key: string): number {
  const layers = count(file, key)
  if (layers <= file.tensors.size) return layers
  throw new AppError('corrupt', `${layers} layers, but ${file.tensors.size} tensors`)
}

interface Subject {
  readonly architecture: string
  readonly design: Architecture
  readonly headSize: number
  readonly layers: number
}

/** Refuses partial or unknown rotary embeddings, unequal heads, experts and what the architecture lists. */
function refuseUnknownFeatures(file: GgufFile, subject: Subject): void {
  const { architecture, design, headSize, layers } = subject
  const key = (name: string): string => `${architecture}.${name}`
  const fact = (name: string): unknown => plain(file.metadata.get(key(name))) ?? 0
  const rotated = count(file, key('rope.dimension_count'), headSize)
  const values = count(file, key('attention.value_length'), headSize)
  const scaling = file.metadata.get(key('rope.scaling.type')) ?? 'linear'
  const factor = file.metadata.get(key('rope.scaling.attn_factor')) ?? 1
  const reasons = [
    rotated === headSize ? null : `a rotary embedding over ${rotated} of ${headSize} channels`,
    values === headSize ? null : `values of size ${values} beside keys of size ${headSize}`,
    scaling === 'none' || scaling === 'linear'
      ? null
      : `scaled rotary embeddings (${shown(scaling)})`,
    factor === 1 ? null : 'scores scaled with the rotary embedding',
    fact('expert_count') === 0 ? null : 'mixture of experts',
    headSize % 2 === 0 ? null : `a head size of ${headSize}`,
    ...design.unknownKeys.map((name) => (fact(name) === 0 ? null : key(name))),
    design.unknownLayerCounts.includes(layers) ? `${layers} layers of ${architecture}` : null,
  ].filter((reason) => reason !== null)
  if (reasons.length === 0) return
  throw new AppError(
    'unsupported',
    `the model uses ${reasons.join(', ')}: this needs a newer engine`,
  )
}

/** Window and rotary embedding of each layer. Only layers that see all keys have scaled positions. */
function readAttention(file: GgufFile, subject: Subject): LayerAttention[] {
  const { architecture, design, layers } = subject
  const key = (name: string): string => `${architecture}.${name}`
  const everywhere = {
    window: null,
    ropeBase: real(file, key('rope.freq_base'), 10_000),
    ropeScale: readRopeScale(file, key),
  }
  const window = plain(file.metadata.get(key('attention.sliding_window'))) ?? 0
  if (design.window === null || window === 0) {
    return Array.from({ length: layers }, () => everywhere)
  }
  const near = {
    window: count(file, key('attention.sliding_window')),
    ropeBase: real(file, key('rope.freq_base_swa'), design.window.ropeBase),
    ropeScale: 1,
  }
  const period = count(file, key('attention.sliding_window_pattern'), design.window.period)
  return Array.from({ length: layers }, (_, layer) =>
    layer % period === period - 1 ? everywhere : near,
  )
}

/** Linear scaling, which llama.cpp also applies where the type is not named. */
function readRopeScale(file: GgufFile, key: (name: string) => string): number {
  if (file.metadata.get(key('rope.scaling.type')) === 'none') return 1
  const names = ['rope.scaling.factor', 'rope.scale_linear'].map(key)
  const found = names.find((name) => file.metadata.has(name))
  if (found === undefined || file.metadata.get(found) === 0) return 1
  return 1 / real(file, found)
}

/** Numbers of 64 bits as ordinary ones: a file may write any of its counts so. */
function plain(value: GgufValue | undefined): Exclude<GgufValue, bigint> | undefined {
  return typeof value === 'bigint' ? Number(value) : value
}

/** A value of any kind in a message: texts quoted and short. */
function shown(value: GgufValue): string {
  if (typeof value === 'object') return 'a list'
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
}

function count(file: GgufFile, key: string, fallback?: number): number {
  const number = plain(file.metadata.get(key)) ?? fallback
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
