// Bounds-checked GGUF reader: any byte sequence gives a file or an AppError, without large allocations.
// Format: magic, version, counts, key–value pairs, tensor infos, padding, tensor data (ggml's gguf.h).
// It does not convert numbers; dequantising is ggml's work.
import { AppError } from '../../../shared/errors.ts'
import { tensorTypes } from '../ffi/ggml.gen.ts'
import { Cursor } from './cursor.ts'
import type { ByteSource } from './source.ts'

export interface GgufArray {
  readonly kind: 'array'
  readonly elementType: GgufValueType
  readonly length: number
  /** Where the elements begin; read them with `readGgufArray`. */
  readonly offset: number
}

export type GgufValue = number | bigint | boolean | string | GgufArray

export interface GgufTensorInfo {
  readonly name: string
  /** Sizes, fastest axis first. */
  readonly shape: readonly number[]
  /** ggml's number and name of the element type. */
  readonly type: number
  readonly typeName: string
  readonly elements: number
  /** From the start of the file. */
  readonly offset: number
  readonly sizeBytes: number
}

export interface GgufFile {
  readonly version: number
  readonly metadata: ReadonlyMap<string, GgufValue>
  readonly tensors: ReadonlyMap<string, GgufTensorInfo>
}

export const valueTypes = [
  'uint8',
  'int8',
  'uint16',
  'int16',
  'uint32',
  'int32',
  'float32',
  'bool',
  'string',
  'array',
  'uint64',
  'int64',
  'float64',
] as const

export type GgufValueType = (typeof valueTypes)[number]

/** Sizes of the fixed-size kinds, in bytes. */
const valueBytes: Partial<Record<GgufValueType, number>> = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  uint64: 8,
  int64: 8,
  float64: 8,
}

// Limits far above any real model: SmolLM2 has 273 tensors and 30 keys, templates stay under 100 kB.
const maxTensors = 65_536
const maxKeys = 65_536
const maxKeyBytes = 65_535
const maxStringBytes = 16 * 2 ** 20
const maxNameBytes = 256
const maxDimensions = 4
const maxArrayDepth = 4

// The shortest forms: an empty key with one byte behind its type, an empty name with one size.
const smallestKeyBytes = 8 + 4 + 1
const smallestTensorBytes = 8 + 4 + 8 + 4 + 8

export function parseGguf(source: ByteSource): GgufFile {
  const cursor = new Cursor(source)
  const version = readPreamble(cursor)
  const fitting = (bytes: number): number => Math.floor(cursor.left / bytes)
  const tensorCount = cursor.count(
    'tensor count',
    Math.min(maxTensors, fitting(smallestTensorBytes)),
  )
  const keyCount = cursor.count('key count', Math.min(maxKeys, fitting(smallestKeyBytes)))
  const metadata = new Map<string, GgufValue>()
  for (let i = 0; i < keyCount; i += 1) {
    const key = cursor.text('key', maxKeyBytes)
    if (metadata.has(key)) throw corrupt(`the key ${shown(key)} appears twice`)
    metadata.set(key, readValue(cursor, readType(cursor, key), { key, depth: 0 }))
  }
  const tensors = readTensorInfos(cursor, tensorCount, readAlignment(metadata))
  return { version, metadata, tensors }
}

function readPreamble(cursor: Cursor): number {
  if (cursor.source.sizeBytes === 0) throw corrupt('the file is empty')
  if (cursor.source.sizeBytes < 24) throw corrupt('the file is too short to be a GGUF file')
  const magic = cursor.uint32()
  if (magic !== 0x46554747)
    throw corrupt('the file is not a GGUF file: its first four bytes are wrong')
  const version = cursor.uint32()
  if (version > 0xffff && (version & 0xffff) === 0) {
    throw new AppError('unsupported', 'the GGUF file was written for a big-endian machine')
  }
  if (version !== 2 && version !== 3) {
    throw new AppError('unsupported', `GGUF version ${version} needs a newer engine`)
  }
  return version
}

function readType(cursor: Cursor, key: string): GgufValueType {
  const number = cursor.uint32()
  const type = valueTypes[number]
  if (type === undefined) throw corrupt(`the key ${shown(key)} has the unknown type ${number}`)
  return type
}

function readValue(
  cursor: Cursor,
  type: GgufValueType,
  place: { readonly key: string; readonly depth: number },
): GgufValue {
  if (type === 'array') return readArrayHead(cursor, place)
  if (type === 'string') return cursor.text(`value of ${shown(place.key)}`, maxStringBytes)
  return cursor.scalar(type)
}

/** Notes where an array lies and steps over it. */
function readArrayHead(
  cursor: Cursor,
  place: { readonly key: string; readonly depth: number },
): GgufArray {
  if (place.depth >= maxArrayDepth) throw corrupt(`${shown(place.key)} nests arrays too deeply`)
  const elementType = readType(cursor, place.key)
  const smallest = valueBytes[elementType] ?? (elementType === 'string' ? 8 : 12)
  const length = cursor.count(`length of ${shown(place.key)}`, Math.floor(cursor.left / smallest))
  const offset = cursor.offset
  const fixed = valueBytes[elementType]
  if (fixed !== undefined) cursor.skip(fixed * length)
  else if (elementType === 'string') {
    for (let i = 0; i < length; i += 1) cursor.skip(cursor.count('string length', cursor.left))
  } else {
    for (let i = 0; i < length; i += 1) readArrayHead(cursor, { ...place, depth: place.depth + 1 })
  }
  return { kind: 'array', elementType, length, offset }
}

/** Reads an array of scalars or strings; `limit` bounds what the caller is ready to hold. */
export function readGgufArray(
  source: ByteSource,
  array: GgufArray,
  limit = 2 ** 20,
): (number | bigint | boolean | string)[] {
  if (array.elementType === 'array') throw new AppError('unsupported', 'arrays of arrays')
  if (array.length > limit) throw new AppError('too-large', `${array.length} array elements`)
  const cursor = new Cursor(source, array.offset)
  const { elementType, length } = array
  return Array.from({ length }, () =>
    elementType === 'string' ? cursor.text('element', maxStringBytes) : cursor.scalar(elementType),
  )
}

function readAlignment(metadata: ReadonlyMap<string, GgufValue>): number {
  const value = metadata.get('general.alignment') ?? 32
  const valid =
    typeof value === 'number' && value >= 8 && value <= 2 ** 20 && Number.isInteger(value)
  if (!valid || (value & (value - 1)) !== 0)
    throw corrupt('general.alignment is not a power of two')
  return value
}

interface PlannedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: number
  readonly relativeOffset: number
}

function readTensorInfos(
  cursor: Cursor,
  count: number,
  alignment: number,
): Map<string, GgufTensorInfo> {
  const planned = Array.from({ length: count }, () => readTensorInfo(cursor, alignment))
  const dataStart = Math.ceil(cursor.offset / alignment) * alignment
  const tensors = new Map<string, GgufTensorInfo>()
  for (const plan of planned) {
    if (tensors.has(plan.name)) throw corrupt(`the tensor ${shown(plan.name)} appears twice`)
    tensors.set(plan.name, placeTensor(plan, dataStart, cursor.source.sizeBytes))
  }
  refuseOverlaps(tensors)
  return tensors
}

/** Tensors that shared bytes would let a small file ask for any amount of memory. */
function refuseOverlaps(tensors: ReadonlyMap<string, GgufTensorInfo>): void {
  let end = 0
  for (const tensor of [...tensors.values()].sort((a, b) => a.offset - b.offset)) {
    if (tensor.offset < end) throw corrupt(`the tensor ${shown(tensor.name)} overlaps another`)
    end = tensor.offset + tensor.sizeBytes
  }
}

function readTensorInfo(cursor: Cursor, alignment: number): PlannedTensor {
  const name = cursor.text('tensor name', maxNameBytes)
  const dimensions = cursor.uint32()
  if (dimensions < 1 || dimensions > maxDimensions) {
    throw corrupt(`the tensor ${shown(name)} has ${dimensions} dimensions`)
  }
  const shape = Array.from({ length: dimensions }, () =>
    cursor.count(`size of ${shown(name)}`, 2 ** 40),
  )
  const type = cursor.uint32()
  const relativeOffset = cursor.count(`offset of ${shown(name)}`, Number.MAX_SAFE_INTEGER)
  if (relativeOffset % alignment !== 0) throw corrupt(`the tensor ${shown(name)} is not aligned`)
  return { name, shape, type, relativeOffset }
}

function placeTensor(plan: PlannedTensor, dataStart: number, fileBytes: number): GgufTensorInfo {
  const facts = (tensorTypes as Record<number, { name: string; block: number; bytes: number }>)[
    plan.type
  ]
  if (facts === undefined) {
    throw new AppError(
      'unsupported',
      `the tensor ${shown(plan.name)} has type ${plan.type}, which needs a newer engine`,
    )
  }
  const elements = plan.shape.reduce((product, size) => product * size, 1)
  if (!Number.isSafeInteger(elements) || elements === 0) {
    throw corrupt(`the tensor ${shown(plan.name)} has an impossible size`)
  }
  if ((plan.shape[0] ?? 0) % facts.block !== 0) {
    throw corrupt(`rows of ${shown(plan.name)} are not whole ${facts.name} blocks`)
  }
  const sizeBytes = (elements / facts.block) * facts.bytes
  const offset = dataStart + plan.relativeOffset
  if (offset + sizeBytes > fileBytes) {
    throw corrupt(
      `the file is cut off: ${shown(plan.name)} ends at byte ${offset + sizeBytes}, the file at ${fileBytes}`,
    )
  }
  const { name, shape, type } = plan
  return { name, shape, type, typeName: facts.name, elements, offset, sizeBytes }
}

function corrupt(message: string): AppError {
  return new AppError('corrupt', message)
}

/** File contents in messages are quoted and short. */
function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
