import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../../shared/errors.ts'
import { readModelInfo } from '../nn/config.ts'
import { parseGguf, readGgufArray, type GgufArray } from './reader.ts'
import { memorySource } from './source.ts'
import { encodeGguf, type GgufEntry } from './writer.ts'

const metadata = new Map<string, GgufEntry>([
  ['general.architecture', { type: 'string', value: 'llama' }],
  ['llama.block_count', { type: 'uint32', value: 2 }],
  ['llama.rope.freq_base', { type: 'float32', value: 10_000 }],
  ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
  ['tokenizer.ggml.tokens', { type: 'strings', value: ['a', 'bc', '—'] }],
  ['tokenizer.ggml.token_type', { type: 'int32s', value: Int32Array.of(3, 1, -1) }],
])

const tensors = [
  { name: 'first', shape: [4, 3], data: Float32Array.from({ length: 12 }, (_, i) => i) },
  { name: 'second', shape: [5], data: Float32Array.of(1, 2, 3, 4, 5) },
]

const sample = Buffer.concat([...encodeGguf({ metadata, tensors })])

const parse = (bytes: Uint8Array) => parseGguf(memorySource(bytes))

function failureOf(action: () => unknown): AppError {
  try {
    action()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

/** The sample with some bytes replaced. */
function patched(offset: number, bytes: readonly number[]): Uint8Array {
  const copy = Uint8Array.from(sample)
  copy.set(bytes, offset)
  return copy
}

describe('the GGUF reader', () => {
  it('gives back what the writer wrote', () => {
    const file = parse(sample)
    expect(file.metadata.get('general.architecture')).toBe('llama')
    expect(file.metadata.get('llama.block_count')).toBe(2)
    expect(file.metadata.get('tokenizer.ggml.add_bos_token')).toBe(true)
    const tokens = file.metadata.get('tokenizer.ggml.tokens') as GgufArray
    expect(readGgufArray(memorySource(sample), tokens)).toEqual(['a', 'bc', '—'])
    const kinds = file.metadata.get('tokenizer.ggml.token_type') as GgufArray
    expect(readGgufArray(memorySource(sample), kinds)).toEqual([3, 1, -1])
    const second = file.tensors.get('second')
    expect(second).toMatchObject({ shape: [5], typeName: 'f32', elements: 5, sizeBytes: 20 })
    const view = new DataView(sample.buffer, sample.byteOffset + (second?.offset ?? 0))
    expect(view.getFloat32(4, true)).toBe(2)
  })

  it.each([
    ['an empty file', new Uint8Array(0), 'corrupt', /empty/],
    ['a file of ten bytes', sample.subarray(0, 10), 'corrupt', /too short/],
    ['a file with another magic', patched(0, [0x50, 0x4b]), 'corrupt', /not a GGUF file/],
    ['a big-endian file', patched(4, [0, 0, 0, 3]), 'unsupported', /big-endian/],
    ['a later version', patched(4, [9, 0, 0, 0]), 'unsupported', /newer engine/],
    ['a tensor count of 2^62', patched(8, [0, 0, 0, 0, 0, 0, 0, 0x40]), 'corrupt', /tensor count/],
    ['more tensors than fit', patched(8, [200, 0, 0, 0, 0, 0, 0, 0]), 'corrupt', /tensor count/],
    ['more keys than fit', patched(16, [200, 0, 0, 0, 0, 0, 0, 0]), 'corrupt', /key count/],
    ['a key count of 2^62', patched(16, [0, 0, 0, 0, 0, 0, 0, 0x40]), 'corrupt', /key count/],
    ['a key of 2^56 bytes', patched(24, [0, 0, 0, 0, 0, 0, 0, 1]), 'corrupt', /length of the key/],
    ['a file cut off in its data', sample.subarray(0, sample.length - 40), 'corrupt', /cut off/],
    ['a file cut off in its header', sample.subarray(0, 200), 'corrupt', /./],
  ] as const)('refuses %s with a reason', (...[, bytes, code, message]) => {
    const failure = failureOf(() => parse(bytes))
    expect(failure.code).toBe(code)
    expect(failure.message).toMatch(message)
  })

  it('refuses tensors that share bytes: weights of any size would fit into a small file', () => {
    // Behind the name: the number of sizes, one size, the type.
    const offsetAt = sample.indexOf('second') + 'second'.length + 4 + 8 + 4
    const failure = failureOf(() => parse(patched(offsetAt, [32])))
    expect(failure.code).toBe('corrupt')
    expect(failure.message).toBe('the tensor "second" overlaps another')
  })

  it('says of an unknown architecture that it needs a newer engine', () => {
    const other = new Map(metadata)
    other.set('general.architecture', { type: 'string', value: 'mamba' })
    const file = parse(Buffer.concat([...encodeGguf({ metadata: other, tensors })]))
    const failure = failureOf(() => readModelInfo(file))
    expect(failure.code).toBe('unsupported')
    expect(failure.message).toBe('the architecture "mamba" needs a newer engine')
  })

  it('answers any mutated file with a value or a named error', () => {
    const edit = fc.record({
      at: fc.nat({ max: sample.length - 1 }),
      bytes: fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 8 }),
        fc.constantFrom([0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0, 0, 0, 0, 0x7f], [9, 0, 0, 0]),
      ),
    })
    const mutation = fc.record({
      edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
      length: fc.oneof(fc.constant(sample.length), fc.nat({ max: sample.length })),
    })
    const survives = ({
      edits,
      length,
    }: {
      edits: { at: number; bytes: ArrayLike<number> }[]
      length: number
    }) => {
      const copy = Uint8Array.from(sample)
      for (const { at, bytes } of edits) {
        for (let i = 0; i < bytes.length && at + i < copy.length; i += 1)
          copy[at + i] = bytes[i] ?? 0
      }
      expectNamedOutcome(copy.subarray(0, length))
    }
    fc.assert(fc.property(mutation, survives), { numRuns: 5000, seed: 11 })
  })

  it('answers random bytes after a right preamble with a value or a named error', () => {
    const survives = (bytes: Uint8Array): void =>
      expectNamedOutcome(Buffer.concat([sample.subarray(0, 24), bytes]))
    const random = fc.uint8Array({ maxLength: 400 })
    fc.assert(fc.property(random, survives), { numRuns: 2000, seed: 12 })
  })
})

/** The reader and the model's checks either succeed or throw one of two codes. */
function expectNamedOutcome(bytes: Uint8Array): void {
  try {
    readModelInfo(parse(bytes))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect(['corrupt', 'unsupported']).toContain(error.code)
  }
}
