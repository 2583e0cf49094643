// What is read from a model's header, and what is refused because it would be computed otherwise than served.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  readReference,
  tinyConfig,
  writeTinyModel,
  type ArchitectureReference,
} from '../../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { parseGguf, type GgufFile, type GgufValue } from '../gguf/reader.ts'
import { fileSource } from '../gguf/source.ts'
import { readModelInfo } from './config.ts'

const configs = {
  llama: tinyConfig,
  llama3: readReference<ArchitectureReference>('tiny-llama3').model,
  qwen2: readReference<ArchitectureReference>('tiny-qwen2').model,
  qwen3: readReference<ArchitectureReference>('tiny-qwen3').model,
  gemma3: readReference<ArchitectureReference>('tiny-gemma3').model,
} as const
type Name = keyof typeof configs

let folder: TemporaryFolder
const files = new Map<Name, GgufFile>()

beforeAll(async () => {
  folder = await temporaryFolder()
  for (const name of Object.keys(configs) as Name[]) {
    const file = path.join(folder.path, `${name}.gguf`)
    await writeTinyModel(file, configs[name])
    using source = fileSource(file)
    files.set(name, parseGguf(source))
  }
})

afterAll(async () => {
  await folder[Symbol.asyncDispose]()
})

interface Change {
  /** Undefined = taken away. */
  readonly keys?: Readonly<Record<string, GgufValue | undefined>>
  readonly remove?: readonly string[]
  /** Names of new tensors with their shapes. */
  readonly add?: Readonly<Record<string, readonly number[]>>
}

/** The header of a tiny model with some of it changed. */
function changed(name: Name, { keys = {}, remove = [], add = {} }: Change): GgufFile {
  const file = files.get(name)
  if (file === undefined) throw new Error(`no file ${name}`)
  const metadata = new Map(file.metadata)
  for (const [key, value] of Object.entries(keys)) {
    if (value === undefined) metadata.delete(key)
    else metadata.set(key, value)
  }
  const tensors = new Map(file.tensors)
  for (const tensor of remove) tensors.delete(tensor)
  const pattern = tensors.get('output_norm.weight')
  if (pattern === undefined) throw new Error('no output norm')
  for (const [tensor, shape] of Object.entries(add)) {
    tensors.set(tensor, { ...pattern, name: tensor, shape })
  }
  return { ...file, metadata, tensors }
}

describe('the layers of gemma3', () => {
  const gemma = (keys: NonNullable<Change['keys']> = {}) =>
    readModelInfo(changed('gemma3', { keys })).attention

  it('see all keys at every third place where the file says so, the rest a window', () => {
    const everywhere = { window: null, ropeBase: 1_000_000, ropeScale: 0.5 }
    const near = { window: 20, ropeBase: 10_000, ropeScale: 1 }
    expect(gemma()).toEqual([near, near, everywhere, near])
  })

  it('see all keys at every sixth place where the file says nothing', async () => {
    const file = path.join(folder.path, 'seven.gguf')
    await writeTinyModel(file, { ...configs.gemma3, layers: 7 })
    using source = fileSource(file)
    const { metadata, ...rest } = parseGguf(source)
    const silent = new Map(metadata)
    silent.delete('gemma3.attention.sliding_window_pattern')
    const layers = readModelInfo({ ...rest, metadata: silent }).attention
    expect(layers.map(({ window }) => window)).toEqual([20, 20, 20, 20, 20, null, 20])
  })

  it('take the rotary base of the window from the file', () => {
    expect(gemma({ 'gemma3.rope.freq_base_swa': 5000 })[0]?.ropeBase).toBe(5000)
  })

  it('have no window where the file names none', () => {
    const layers = gemma({ 'gemma3.attention.sliding_window': undefined })
    expect(new Set(layers.map(({ window }) => window))).toEqual(new Set([null]))
  })
})

it('scales positions as llama.cpp does: by a factor without a type, not where the type is none', () => {
  const scaleOf = (keys: NonNullable<Change['keys']>): unknown =>
    readModelInfo(changed('llama', { keys })).attention[0]?.ropeScale
  expect(scaleOf({})).toBe(1)
  expect(scaleOf({ 'llama.rope.scaling.factor': 4 })).toBe(0.25)
  expect(scaleOf({ 'llama.rope.scale_linear': 4 })).toBe(0.25)
  expect(scaleOf({ 'llama.rope.scaling.factor': 4, 'llama.rope.scaling.type': 'none' })).toBe(1)
})

it('reads heads that are wider than the width over their number', () => {
  const { headSize, attentionScale, tiedHead } = readModelInfo(changed('qwen3', {}))
  expect({ headSize, tiedHead }).toEqual({ headSize: 32, tiedHead: false })
  expect(attentionScale).toBeCloseTo(1 / Math.sqrt(32), 12)
})

it('knows frequency factors only of llama, and only where the file has them', () => {
  expect(readModelInfo(changed('llama', {})).hasFrequencyFactors).toBe(false)
  expect(readModelInfo(changed('llama3', {})).hasFrequencyFactors).toBe(true)
})

const newer = 'this needs a newer engine'

it.each<[string, Name, Change, string, string]>([
  [
    'gemma3 with as many layers as the 27B, which scales its queries otherwise',
    'gemma3',
    { keys: { 'gemma3.block_count': 62 }, add: names('extra', 62) },
    'unsupported',
    `62 layers of gemma3: ${newer}`,
  ],
  [
    'capped logits',
    'gemma3',
    { keys: { 'gemma3.final_logit_softcapping': 30 } },
    'unsupported',
    `gemma3.final_logit_softcapping: ${newer}`,
  ],
  [
    'values of another size than keys',
    'qwen3',
    { keys: { 'qwen3.attention.value_length': 16 } },
    'unsupported',
    'values of size 16 beside keys of size 32',
  ],
  [
    'yarn',
    'qwen2',
    { keys: { 'qwen2.rope.scaling.type': 'yarn' } },
    'unsupported',
    'scaled rotary embeddings ("yarn")',
  ],
  [
    'a scaling whose kind is a number',
    'qwen2',
    { keys: { 'qwen2.rope.scaling.type': 7n } },
    'unsupported',
    `scaled rotary embeddings (7): ${newer}`,
  ],
  [
    'a scaling whose kind is a list',
    'qwen2',
    {
      keys: {
        'qwen2.rope.scaling.type': { kind: 'array', elementType: 'uint8', length: 1, offset: 0 },
      },
    },
    'unsupported',
    `scaled rotary embeddings (a list): ${newer}`,
  ],
  [
    'a scaling whose kind is long',
    'qwen2',
    { keys: { 'qwen2.rope.scaling.type': 'k'.repeat(70_000) } },
    'unsupported',
    `scaled rotary embeddings ("${'k'.repeat(40)}…"): ${newer}`,
  ],
  [
    'part of a head rotated',
    'qwen3',
    { keys: { 'qwen3.rope.dimension_count': 16 } },
    'unsupported',
    'a rotary embedding over 16 of 32 channels',
  ],
  [
    'experts',
    'llama',
    { keys: { 'llama.expert_count': 8 } },
    'unsupported',
    `mixture of experts: ${newer}`,
  ],
  [
    'a bias that llama is not known to have',
    'llama',
    { add: { 'blk.0.attn_q.bias': [64] } },
    'unsupported',
    'the tensor blk.0.attn_q.bias needs a newer engine',
  ],
  [
    'frequency factors of qwen2',
    'qwen2',
    { add: { 'rope_freqs.weight': [8] } },
    'unsupported',
    'the tensor rope_freqs.weight needs a newer engine',
  ],
  [
    'too few frequency factors',
    'llama3',
    { add: { 'rope_freqs.weight': [4] } },
    'corrupt',
    'expected [8] in rope_freqs.weight, found [4]',
  ],
  [
    'qwen2 without a bias',
    'qwen2',
    { remove: ['blk.1.attn_k.bias'] },
    'corrupt',
    'the tensor blk.1.attn_k.bias is missing',
  ],
  [
    'qwen3 without a norm of its keys',
    'qwen3',
    { remove: ['blk.0.attn_k_norm.weight'] },
    'corrupt',
    'the tensor blk.0.attn_k_norm.weight is missing',
  ],
  [
    'gemma3 without the norm after attention',
    'gemma3',
    { remove: ['blk.3.post_attention_norm.weight'] },
    'corrupt',
    'the tensor blk.3.post_attention_norm.weight is missing',
  ],
  [
    'an architecture named like a property of objects',
    'llama',
    { keys: { 'general.architecture': 'constructor' } },
    'unsupported',
    'the architecture "constructor" needs a newer engine',
  ],
])('refuses %s', (...[, name, change, code, message]) => {
  let refusal: unknown = null
  try {
    readModelInfo(changed(name, change))
  } catch (error) {
    refusal = error
  }
  expect(refusal).toMatchObject({ code, message: expect.stringContaining(message) as string })
})

function names(stem: string, count: number): Record<string, readonly number[]> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${stem}${i}`, [1]]))
}

it('takes a zero of 64 bits as a zero', () => {
  const keys = { 'gemma3.expert_count': 0n, 'gemma3.attention.sliding_window': 0n }
  expect(readModelInfo(changed('gemma3', { keys })).attention[0]?.window).toBeNull()
})
