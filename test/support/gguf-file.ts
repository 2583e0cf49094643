// Writes small GGUF files for tests: headers of every kind, and LoRA adapters of random numbers.

import { writeFile } from 'node:fs/promises'

export interface GgufTensor {
  readonly name: string
  /** ggml order: the fastest dimension first. */
  readonly shape: readonly number[]
  readonly data: Float32Array
}

export interface GgufContent {
  /** Strings, 32-bit floats, and unsigned integers written as { uint32 }. */
  readonly fields: Readonly<Record<string, string | number | { readonly uint32: number }>>
  readonly tensors: readonly GgufTensor[]
}

export function ggufBytes({ fields, tensors }: GgufContent): Buffer {
  const parts: Buffer[] = [Buffer.from('GGUF'), uint32(3)]
  parts.push(uint64(tensors.length), uint64(Object.keys(fields).length))
  for (const [key, value] of Object.entries(fields)) {
    parts.push(string(key))
    if (typeof value === 'string') parts.push(uint32(8), string(value))
    else if (typeof value === 'number') parts.push(uint32(6), float32(value))
    else parts.push(uint32(4), uint32(value.uint32))
  }
  let offset = 0
  for (const { name, shape, data } of tensors) {
    parts.push(string(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset))
    offset += padded(data.byteLength)
  }
  const header = Buffer.concat(parts)
  const body = tensors.map(({ data }) => fill(Buffer.from(data.buffer, 0, data.byteLength)))
  return Buffer.concat([fill(header), ...body])
}

export async function writeGguf(path: string, content: GgufContent): Promise<void> {
  await writeFile(path, ggufBytes(content))
}

export interface RandomAdapter {
  readonly seed: number
  readonly architecture: string
  /** [inputs, outputs] of each weight by name, without `.weight`. */
  readonly weights: Readonly<Record<string, readonly [number, number]>>
  readonly rank: number
  /** The spread of B; A has a spread of 1 / inputs. */
  readonly scale: number
}

export async function writeRandomAdapter(path: string, adapter: RandomAdapter): Promise<void> {
  const random = createRandom(adapter.seed)
  const { rank, scale } = adapter
  const tensors = Object.entries(adapter.weights).flatMap(([name, [inputs, outputs]]) => [
    matrix(`${name}.weight.lora_a`, [inputs, rank], () => random() / Math.sqrt(inputs)),
    matrix(`${name}.weight.lora_b`, [rank, outputs], () => random() * scale),
  ])
  await writeGguf(path, {
    fields: {
      'general.type': 'adapter',
      'general.architecture': adapter.architecture,
      'adapter.type': 'lora',
      'adapter.lora.alpha': rank,
    },
    tensors,
  })
}

function matrix(name: string, shape: readonly [number, number], value: () => number): GgufTensor {
  return { name, shape, data: Float32Array.from({ length: shape[0] * shape[1] }, value) }
}

/** Numbers between -1 and 1 from a 32-bit xorshift. */
export function createRandom(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state / 2 ** 31
  }
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

const alignment = 32

function padded(length: number): number {
  return Math.ceil(length / alignment) * alignment
}

function fill(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])
}
