import { readFile, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { AppError } from '../../shared/errors.ts'
import { readAdapter, writeAdapter } from './adapter-file.ts'
import { createAdapter } from './nn/adapter.ts'
import type { Adapter, ModelInfo } from './types.ts'

const info: ModelInfo = {
  architecture: 'llama',
  layers: 2,
  width: 32,
  feedForward: 48,
  heads: 4,
  keyValueHeads: 2,
  headSize: 8,
  vocabulary: 100,
  contextLength: 128,
  ropeBase: 10_000,
  normEpsilon: 1e-5,
  tiedHead: true,
}

function filledAdapter(): Adapter {
  const adapter = createAdapter(info, { rank: 4, alpha: 8, seed: 5 })
  for (const tensor of adapter.tensors) tensor.b.forEach((_, i) => (tensor.b[i] = Math.sin(i)))
  return adapter
}

async function failureOf(action: Promise<unknown> | (() => unknown)): Promise<AppError> {
  try {
    await (typeof action === 'function' ? action() : action)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

it('reads back exactly what it wrote, also with B all zero', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  for (const adapter of [filledAdapter(), createAdapter(info, { rank: 3, alpha: 6, seed: 1 })]) {
    await writeAdapter(file, adapter, { architecture: 'llama' })
    expect(readAdapter(file, info)).toEqual(adapter)
  }
  expect(await readdir(folder.path)).toEqual(['a.gguf'])
})

it('keeps the old file and leaves no rest when writing fails', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  const adapter = filledAdapter()
  await writeAdapter(file, adapter, { architecture: 'llama' })
  const before = await readFile(file)
  adapter.tensors[3]?.a.fill(NaN, 5, 6)
  const failure = await failureOf(writeAdapter(file, adapter, { architecture: 'llama' }))
  expect(failure.message).toBe('blk.0.attn_output.weight.lora_a[5] is NaN')
  expect(await readFile(file)).toEqual(before)
  expect(await readdir(folder.path)).toEqual(['a.gguf'])
})

it('names the folder that does not exist', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'missing', 'a.gguf')
  const failure = await failureOf(writeAdapter(file, filledAdapter(), { architecture: 'llama' }))
  expect(failure.code).toBe('unavailable')
  expect(failure.message).toContain(file)
})

it.each<[string, (adapter: Adapter) => Adapter, Partial<ModelInfo>, RegExp]>([
  [
    'of another architecture',
    (a) => a,
    { architecture: 'qwen2' },
    /is for "llama", the model is qwen2/,
  ],
  [
    'of a wider model',
    (a) => a,
    { width: 64 },
    /expected \[64,4\] in blk\.0\.attn_q\.weight\.lora_a, found \[32,4\]/,
  ],
  ['of a deeper model', (a) => a, { layers: 1 }, /changes "blk\.1\.attn_q.*not trainable/],
  ['of a shallower model', (a) => a, { layers: 3 }, /has no blk\.2\.attn_q\.weight\.lora_a/],
  [
    'that changes the embedding',
    (a) => withTensor(a, 'token_embd.weight'),
    {},
    /"token_embd\.weight\.lora_a".*not trainable/,
  ],
  [
    'that changes the head',
    (a) => withTensor(a, 'output.weight'),
    {},
    /"output\.weight\.lora_a".*not trainable/,
  ],
])('refuses an adapter %s', async (...[, change, other, message]) => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  await writeAdapter(file, change(filledAdapter()), { architecture: 'llama' })
  const failure = await failureOf(() => readAdapter(file, { ...info, ...other }))
  expect(failure.code).toBe('unsupported')
  expect(failure.message).toMatch(message)
})

function withTensor(adapter: Adapter, name: string): Adapter {
  const tensor = {
    name,
    inFeatures: 32,
    outFeatures: 100,
    a: new Float32Array(128),
    b: new Float32Array(400),
  }
  return { ...adapter, tensors: [...adapter.tensors, tensor] }
}

it('refuses pairs of different rank', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  const adapter = filledAdapter()
  const [first, ...rest] = adapter.tensors
  if (first === undefined) throw new Error('no tensors')
  // Twice the width at half the rank has as many numbers.
  const odd = {
    ...first,
    inFeatures: first.inFeatures * 2,
    a: new Float32Array(first.a.length * 2),
  }
  await writeAdapter(file, { ...adapter, tensors: [odd, ...rest] }, { architecture: 'llama' })
  const failure = await failureOf(() => readAdapter(file, info))
  expect(failure.message).toMatch(
    /expected \[32,4\] in blk\.0\.attn_q\.weight\.lora_a, found \[64,4\]/,
  )
})

it('refuses numbers that are not finite and files that are cut off', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  await writeAdapter(file, filledAdapter(), { architecture: 'llama' })
  const bytes = await readFile(file)
  await writeFile(file, bytes.subarray(0, bytes.length - 64))
  expect((await failureOf(() => readAdapter(file, info))).message).toMatch(/cut off/)
  bytes.writeFloatLE(Infinity, bytes.length - 64)
  await writeFile(file, bytes)
  const failure = await failureOf(() => readAdapter(file, info))
  expect(failure.code).toBe('corrupt')
  expect(failure.message).toMatch(/lora_b\[\d+\] is Infinity/)
})

it('refuses a model file', async () => {
  await using folder = await temporaryFolder()
  const file = path.join(folder.path, 'a.gguf')
  await writeAdapter(file, filledAdapter(), { architecture: 'llama' })
  const bytes = await readFile(file)
  bytes.write('modelxx', bytes.indexOf('adapter'))
  await writeFile(file, bytes)
  expect((await failureOf(() => readAdapter(file, info))).message).toMatch(/not an adapter/)
})
