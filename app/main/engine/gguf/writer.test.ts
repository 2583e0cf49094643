import fc from 'fast-check'
import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { AppError } from '../../../shared/errors.ts'
import { parseGguf, readGgufArray } from './reader.ts'
import { fileSource, memorySource } from './source.ts'
import { encodeGguf, writeGguf, type GgufContent, type GgufEntry } from './writer.ts'

const float = fc.float({ noNaN: false })

const entry: fc.Arbitrary<GgufEntry> = fc.oneof(
  fc.record({ type: fc.constant('string' as const), value: fc.string({ unit: 'grapheme' }) }),
  fc.record({ type: fc.constant('uint32' as const), value: fc.nat({ max: 2 ** 32 - 1 }) }),
  fc.record({ type: fc.constant('float32' as const), value: float }),
  fc.record({ type: fc.constant('bool' as const), value: fc.boolean() }),
  fc.record({
    type: fc.constant('strings' as const),
    value: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 20 }),
  }),
  fc.record({ type: fc.constant('int32s' as const), value: fc.int32Array() }),
  fc.record({ type: fc.constant('float32s' as const), value: fc.float32Array() }),
)

const shape = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })

const tensors = fc.uniqueArray(
  fc.tuple(fc.string({ unit: 'grapheme', maxLength: 12 }), shape, float),
  { selector: ([name]) => name, maxLength: 6 },
)

const content: fc.Arbitrary<GgufContent> = fc
  .tuple(fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 12 }), entry), tensors)
  .map(([metadata, list]) => ({
    metadata: new Map(Object.entries(metadata)),
    tensors: list.map(([name, sizes, first]) => ({
      name,
      shape: sizes,
      data: Float32Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, (_, i) => first + i),
    })),
  }))

function encode(written: GgufContent): Uint8Array {
  return Buffer.concat([...encodeGguf(written)])
}

/** What the reader makes of the written entry. */
function readBack(bytes: Uint8Array, key: string): unknown {
  const source = memorySource(bytes)
  const value = parseGguf(source).metadata.get(key)
  return typeof value === 'object' ? readGgufArray(source, value) : value
}

function floatsAt(bytes: Uint8Array, offset: number, count: number): Float32Array {
  return new Float32Array(Uint8Array.from(bytes.subarray(offset, offset + 4 * count)).buffer)
}

it('writes what the reader gives back, whatever the names, kinds, shapes and numbers', () => {
  const comesBack = (written: GgufContent): void => {
    const bytes = encode(written)
    const file = parseGguf(memorySource(bytes))
    expect([...file.metadata.keys()]).toEqual([...written.metadata.keys()])
    for (const [key, { value }] of written.metadata) {
      const plain = typeof value === 'object' ? Array.from<unknown>(value) : value
      expect(readBack(bytes, key)).toEqual(plain)
    }
    expect([...file.tensors.keys()]).toEqual(written.tensors.map(({ name }) => name))
    for (const { name, shape: sizes, data } of written.tensors) {
      const found = file.tensors.get(name)
      expect(found).toMatchObject({ shape: sizes, elements: data.length, typeName: 'f32' })
      expect(floatsAt(bytes, found?.offset ?? 0, data.length)).toEqual(data)
    }
  }
  fc.assert(fc.property(content, comesBack), { numRuns: 1000, seed: 21 })
})

it('refuses nothing of one file because of what another one held', () => {
  const twice = (written: GgufContent): void => {
    expect(encode(written)).toEqual(encode(written))
  }
  fc.assert(fc.property(content, twice), { numRuns: 100, seed: 22 })
})

const one = { name: 'one', shape: [1], data: Float32Array.of(1) }
const numbers = (value: number): Map<string, GgufEntry> =>
  new Map([['n', { type: 'uint32', value }]])
const texts = (value: string): Map<string, GgufEntry> => new Map([['s', { type: 'string', value }]])

it.each<[string, Partial<GgufContent>, RegExp]>([
  ['two tensors of one name', { tensors: [one, one] }, /"one" appears twice/],
  ['a tensor without sizes', { tensors: [{ ...one, shape: [] }] }, /"one" has 0 sizes/],
  ['five sizes', { tensors: [{ ...one, shape: [1, 1, 1, 1, 1] }] }, /"one" has 5 sizes/],
  [
    'an empty tensor',
    { tensors: [{ ...one, shape: [0], data: new Float32Array(0) }] },
    /"one" has the size 0/,
  ],
  [
    'half a size',
    { tensors: [{ ...one, shape: [0.5, 2], data: Float32Array.of(1) }] },
    /"one" has the size 0.5/,
  ],
  ['a shape of other numbers', { tensors: [{ ...one, shape: [2] }] }, /2 numbers.*"one".*found 1/],
  ['a name that no reader takes', { tensors: [{ ...one, name: 'n'.repeat(64) }] }, /64 bytes/],
  [
    'a key that no reader takes',
    { metadata: new Map([['k'.repeat(65_536), { type: 'bool', value: true }]]) },
    /65536 bytes/,
  ],
  ['a number that is none', { metadata: numbers(NaN) }, /"n" is NaN/],
  ['a broken number', { metadata: numbers(1.5) }, /"n" is 1.5/],
  ['a negative number', { metadata: numbers(-1) }, /"n" is -1/],
  ['too large a number', { metadata: numbers(2 ** 32) }, /"n" is 4294967296/],
  ['half a character', { metadata: texts('a\uD800') }, /"s" is not well-formed text/],
  [
    'an alignment that is not kept',
    { metadata: new Map([['general.alignment', { type: 'uint32', value: 64 }]]) },
    /alignment/,
  ],
])('refuses to write %s', (...[, change, message]) => {
  const failure = failureOf(() => encode({ metadata: new Map(), tensors: [], ...change }))
  expect(failure.code).toBe('invalid-input')
  expect(failure.message).toMatch(message)
})

function failureOf(action: () => unknown): AppError {
  try {
    action()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

it('hands the reason of a refusal on and leaves no file behind', async () => {
  await using folder = await temporaryFolder()
  const target = path.join(folder.path, 'a.gguf')
  const writing = writeGguf(target, { metadata: texts('\uDC00'), tensors: [] })
  await expect(writing).rejects.toMatchObject({ code: 'invalid-input' })
  expect(await readdir(folder.path)).toEqual([])
})

it('keeps a byte order mark, which is a token of many vocabularies', () => {
  const tokens = ['\uFEFF', '\uFEFFusing', 'a\uFEFF']
  const metadata = new Map<string, GgufEntry>([
    ['tokens', { type: 'strings', value: tokens }],
    ['\uFEFFkey', { type: 'string', value: '\uFEFF' }],
  ])
  const bytes = encode({ metadata, tensors: [] })
  expect(readBack(bytes, 'tokens')).toEqual(tokens)
  expect(readBack(bytes, '\uFEFFkey')).toBe('\uFEFF')
})

it('writes a vocabulary of 300,000 tokens', () => {
  const value = Array.from({ length: 300_000 }, (_, id) => String(id))
  const bytes = encode({ metadata: new Map([['tokens', { type: 'strings', value }]]), tensors: [] })
  expect(readBack(bytes, 'tokens')).toEqual(value)
})

it('says of a folder, a device and a pipe that they are not files, and does not wait for them', async ({
  skip,
}) => {
  if (process.platform === 'win32') return skip('Windows has no pipes with names in folders')
  await using folder = await temporaryFolder()
  const pipe = path.join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const place of [folder.path, '/dev/zero', pipe]) {
    const failure = failureOf(() => fileSource(place))
    expect(failure.code).toBe('unavailable')
    expect(failure.message).toBe(`${place} is not a file`)
  }
})
