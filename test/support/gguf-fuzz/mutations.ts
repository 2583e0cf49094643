// Breaks a GGUF file where readers break: lengths, counts, offsets, types, sizes, names, nesting, cut-off ends.
import { pick, type Random } from '../../../eval/random.ts'
import { joined, type Role, type Segment } from './segments.ts'

interface Draft {
  /** The file's fields; what changes the structure changes this list. */
  readonly segments: Segment[]
  readonly random: Random
}

type Mutation = (draft: Draft) => void

/** The file with one to four changes; about one in fifty stays as it was. */
export function mutated(seed: readonly Segment[], random: Random): Uint8Array {
  const draft = { segments: [...seed], random }
  if (random() < 0.02) return joined(draft.segments)
  const count = 1 + Math.floor(random() ** 2 * 4)
  for (let i = 0; i < count; i += 1) pick(random, structural)(draft)
  const file = joined(draft.segments)
  return random() < 0.3 ? damaged(file, random) : file
}

const whole = (random: Random, below: number): number => Math.floor(random() * below)

/** Values at which sums overflow, signs turn or arrays become too large. */
const edges = [
  ...[0n, 1n, 2n, 3n, 7n, 31n, 32n, 255n, 256n, 65_535n, 65_536n, 65_537n, 2n ** 20n],
  ...[2n ** 24n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 40n, 2n ** 53n - 1n],
  ...[2n ** 53n, 2n ** 60n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 32n, 2n ** 64n - 1n],
]

const numberRoles: readonly Role[] = [
  'version',
  'tensor-count',
  'key-count',
  'length',
  'value-type',
  'array-length',
  'scalar',
  'dimension-count',
  'dimension',
  'tensor-type',
  'offset',
]

function indexOf({ segments, random }: Draft, roles: readonly Role[]): number | null {
  const places = segments.flatMap(({ role }, index) => (roles.includes(role) ? [index] : []))
  return places.length === 0 ? null : pick(random, places)
}

function replace({ segments }: Draft, index: number, bytes: Uint8Array): void {
  const segment = segments[index]
  if (segment !== undefined) segments[index] = { ...segment, bytes }
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => value * 256n + BigInt(byte), 0n)
}

function bytesOf(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let rest = BigInt.asUintN(8 * length, value)
  for (let i = 0; i < length; i += 1, rest >>= 8n) bytes[i] = Number(rest & 0xffn)
  return bytes
}

/** Any number becomes an edge value, a neighbour of itself, or the file's size. */
function changeNumber(draft: Draft): void {
  const { segments, random } = draft
  const index = indexOf(draft, [pick(random, numberRoles)]) ?? indexOf(draft, numberRoles)
  const old = index === null ? undefined : segments[index]?.bytes
  if (index === null || old === undefined) return
  const value = numberOf(old)
  const size = segments.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)
  const choices = [
    value + 1n,
    value - 1n,
    value * 2n,
    value ^ 32n,
    BigInt(size),
    BigInt(size) - value,
  ]
  const next = random() < 0.5 ? pick(random, edges) : pick(random, choices)
  replace(draft, index, bytesOf(next, old.byteLength))
}

/** A type becomes another known one or the first unknown one, with the old value's bytes behind it. */
function changeType(draft: Draft): void {
  const index = indexOf(draft, ['value-type', 'tensor-type'])
  if (index !== null) replace(draft, index, bytesOf(BigInt(whole(draft.random, 42)), 4))
}

const texts: readonly (() => Uint8Array)[] = [
  () => new Uint8Array(0),
  () => Buffer.from('general.alignment'),
  () => Buffer.from('token_embd.weight'),
  () => Buffer.from('blk.0.attn_q.weight.lora_a'),
  () => Buffer.from('llama'),
  () => Buffer.from('\uFEFFgeneral.type'),
  () => Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80),
  () => Buffer.from('__proto__'),
  () => Buffer.from('a\0b'),
  () => Buffer.alloc(257, 'n'),
  () => Buffer.alloc(70_000, 'k'),
]

/** A name or a text becomes another, broken, or huge one; its length fits two times in three. */
function changeText(draft: Draft): void {
  const index = indexOf(draft, ['text'])
  if (index === null) return
  const { segments, random } = draft
  const others = segments.filter(({ role }) => role === 'text')
  const next = random() < 0.3 ? pick(random, others).bytes : pick(random, texts)()
  replace(draft, index, next)
  if (random() < 2 / 3) replace(draft, index - 1, bytesOf(BigInt(next.byteLength), 8))
}

function groupOf(draft: Draft): { readonly start: number; readonly end: number } | null {
  const { segments, random } = draft
  const names = [...new Set(segments.map(({ group }) => group))].filter((name) => name !== '')
  if (names.length === 0) return null
  const name = pick(random, names)
  const start = segments.findIndex(({ group }) => group === name)
  return { start, end: segments.findLastIndex(({ group }) => group === name) + 1 }
}

function raiseCount(draft: Draft, group: string, by: bigint): void {
  const role = group.startsWith('key') ? 'key-count' : 'tensor-count'
  const index = draft.segments.findIndex((segment) => segment.role === role)
  const bytes = draft.segments[index]?.bytes
  if (bytes !== undefined) replace(draft, index, bytesOf(numberOf(bytes) + by, 8))
}

/** A key or a tensor appears twice, is missing, or moves; the count follows two times in three. */
function moveGroup(draft: Draft): void {
  const place = groupOf(draft)
  if (place === null) return
  const { segments, random } = draft
  const { start, end } = place
  const group = segments[start]?.group ?? ''
  const action = whole(random, 3)
  const isCounted = random() < 2 / 3
  if (action === 0) {
    segments.splice(end, 0, ...segments.slice(start, end))
    if (isCounted) raiseCount(draft, group, 1n)
  } else if (action === 1) {
    segments.splice(start, end - start)
    if (isCounted) raiseCount(draft, group, -1n)
  } else {
    const moved = segments.splice(start, end - start)
    const target = groupOf(draft)
    segments.splice(target?.start ?? start, 0, ...moved)
  }
}

/** Two tensors share their data, or one begins inside another. */
function overlap(draft: Draft): void {
  const [from, to] = [indexOf(draft, ['offset']), indexOf(draft, ['offset'])]
  const bytes = from === null ? undefined : draft.segments[from]?.bytes
  if (to === null || bytes === undefined) return
  const shift = pick(draft.random, [0n, 0n, 32n, -32n, 4n, 1n])
  replace(draft, to, bytesOf(numberOf(bytes) + shift, 8))
}

/** A key whose value is arrays of arrays, honest or not about their lengths. */
function insertNested(draft: Draft): void {
  const { random } = draft
  const depth = 1 + whole(random, 8)
  const parts: Uint8Array[] = [bytesOf(9n, 4)]
  for (let level = 0; level < depth; level += 1) {
    const length = random() < 0.8 ? 1n : pick(random, edges)
    parts.push(bytesOf(9n, 4), bytesOf(length, 8))
  }
  parts.push(bytesOf(BigInt(whole(random, 13)), 4), bytesOf(random() < 0.5 ? 0n : 1n, 8))
  if (random() < 0.5) parts.push(bytesOf(pick(random, edges), 8))
  insertKey(draft, `nested ${whole(random, 100)}`, parts)
}

/** `general.alignment` with any type and value. */
function insertAlignment(draft: Draft): void {
  const { random } = draft
  const type = random() < 0.7 ? 4 : whole(random, 13)
  const value = pick(random, [0n, 1n, 8n, 16n, 32n, 33n, 64n, 4096n, 2n ** 20n, 2n ** 21n])
  const width = [10, 11, 12].includes(type) ? 8 : 4
  insertKey(draft, 'general.alignment', [bytesOf(BigInt(type), 4), bytesOf(value, width)])
}

function insertKey(draft: Draft, name: string, value: readonly Uint8Array[]): void {
  const key = Buffer.from(name)
  const at = draft.segments.findIndex(({ role }) => role === 'key-count') + 1
  const group = `key ${name}`
  const added: Segment[] = [
    { role: 'length', bytes: bytesOf(BigInt(key.byteLength), 8), group },
    { role: 'text', bytes: key, group },
    ...value.map((bytes): Segment => ({ role: 'scalar', bytes, group })),
  ]
  draft.segments.splice(at, 0, ...added)
  raiseCount(draft, group, 1n)
}

/** A key's value becomes one of another kind, whole in itself, so that what stands behind it is read as before. */
function changeKind(draft: Draft): void {
  const index = indexOf(draft, ['value-type'])
  if (index === null) return
  const { segments, random } = draft
  const group = segments[index]?.group ?? ''
  const start = segments.findIndex(
    (segment) => segment.group === group && segment.role === 'value-type',
  )
  const end = segments.findLastIndex((segment) => segment.group === group) + 1
  const type = whole(random, 13)
  const parts = [bytesOf(BigInt(type), 4), ...valueOf(type, random)]
  const value = parts.map((bytes): Segment => ({ role: 'scalar', bytes, group }))
  segments.splice(start, end - start, ...value)
}

/** Bytes of each fixed-size kind by type number. */
const kindBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8]

function valueOf(type: number, random: Random): Uint8Array[] {
  if (type === 8) {
    const text = pick(random, texts)()
    return [bytesOf(BigInt(text.byteLength), 8), text]
  }
  // An array of two bytes.
  if (type === 9) return [bytesOf(0n, 4), bytesOf(2n, 8), Uint8Array.of(1, 2)]
  const bytes = bytesOf(pick(random, edges), kindBytes[type] ?? 0)
  // Reals that are no numbers, or none that counts.
  if (type === 6 && random() < 0.5) {
    const real = pick(random, [NaN, Infinity, 1e-45, -1])
    new DataView(bytes.buffer).setFloat32(0, real, true)
  }
  return [bytes]
}

/** A tensor's sizes in another order, with one more, one less, or the product kept. */
function changeShape(draft: Draft): void {
  const index = indexOf(draft, ['dimension-count'])
  const count = index === null ? undefined : draft.segments[index]?.bytes
  if (index === null || count === undefined) return
  const sizes = Number(numberOf(count))
  const action = whole(draft.random, 3)
  const group = draft.segments[index]?.group ?? ''
  const one: Segment = { role: 'dimension', bytes: bytesOf(1n, 8), group }
  if (action === 0) draft.segments.splice(index + 1, 0, one)
  if (action === 1 && sizes > 0) draft.segments.splice(index + 1, 1)
  if (action === 2 && sizes === 2)
    draft.segments.splice(index + 1, 0, ...draft.segments.splice(index + 2, 1))
  const change = [1n, -1n, 0n][action] ?? 0n
  if (draft.random() < 0.8) replace(draft, index, bytesOf(BigInt(sizes) + change, 4))
}

/** Numbers that are not numbers, and data that is short or absent. */
function spoilData(draft: Draft): void {
  const index = indexOf(draft, ['data'])
  const bytes = index === null ? undefined : draft.segments[index]?.bytes
  if (index === null || bytes === undefined || bytes.byteLength < 8) return
  const copy = Uint8Array.from(bytes)
  const bad = pick(draft.random, [NaN, Infinity, -Infinity, 1e-45, -0])
  new DataView(copy.buffer).setFloat32(4 * whole(draft.random, copy.byteLength / 4 - 1), bad, true)
  const end = draft.random() < 0.8 ? copy.byteLength : whole(draft.random, copy.byteLength)
  replace(draft, index, copy.subarray(0, end))
}

const structural: readonly Mutation[] = [
  changeNumber,
  changeNumber,
  changeNumber,
  changeType,
  changeKind,
  changeKind,
  changeText,
  moveGroup,
  overlap,
  insertNested,
  insertAlignment,
  changeShape,
  spoilData,
]

/** Damage that knows nothing of the format: bits, cut ends, missing and repeated pieces, noise. */
function damaged(file: Uint8Array, random: Random): Uint8Array {
  const at = whole(random, file.byteLength + 1)
  const length = whole(random, Math.min(64, file.byteLength - at) + 1)
  switch (whole(random, 5)) {
    case 0:
      return file.subarray(0, at)
    case 1:
      return Buffer.concat([file.subarray(0, at), file.subarray(at + length)])
    case 2:
      return Buffer.concat([file.subarray(0, at + length), file.subarray(at)])
    case 3: {
      const copy = Uint8Array.from(file)
      for (let i = at; i < at + length; i += 1) copy[i] = whole(random, 256)
      return copy
    }
    default: {
      const copy = Uint8Array.from(file)
      for (let i = 0; i < 1 + length / 8; i += 1) {
        const index = whole(random, file.byteLength)
        copy[index] = (copy[index] ?? 0) ^ (1 << whole(random, 8))
      }
      return copy
    }
  }
}
