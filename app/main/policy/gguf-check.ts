// Looks at a GGUF file's header before llama.cpp touches it, so that a bad file gives a sentence and not
// an exit code. Knows only what a refusal needs; loading tensors is llama.cpp's (and the engine's) work.
// Layout: github.com/ggml-org/ggml docs/gguf.md, versions 2 and 3, little-endian.

import { open, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppError, isAppError } from '../../shared/errors.ts'

export interface GgufSummary {
  readonly sizeBytes: number
  readonly architecture: string
  /** `model`, `adapter`, …; a file without the field is a model. */
  readonly kind: string
  /** Shapes by tensor name, in ggml's order. */
  readonly tensors: ReadonlyMap<string, readonly number[]>
}

type Scalar = string | number | bigint | boolean

const firstReadBytes = 1 << 20
/** Vocabularies of 260k words need about 10 MB; a header beyond this is not a header. */
const largestHeaderBytes = 256 << 20

/** Bytes of GGUF's fixed-size value types by type id; 8 is a string, 9 an array. */
const scalarBytes: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
}

/** [elements, bytes] of one block by ggml type id; a type that is not here is left to llama.cpp. */
const blockSizes: Readonly<Record<number, readonly [number, number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  9: [32, 36],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  15: [256, 292],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  30: [1, 2],
}

/** Rejects with `not-found`, `invalid-input`, `corrupt` or `unsupported`, naming the file and the cause. */
export async function checkGguf(path: string): Promise<GgufSummary> {
  const sizeBytes = await fileSize(path)
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new AppError('not-found', `${path} cannot be opened: ${reasonOf(cause)}`, { cause })
  })
  try {
    const start = await readStart(file, Math.min(sizeBytes, firstReadBytes))
    checkMagic(path, start)
    return await readHeader(file, { path, sizeBytes, start })
  } finally {
    await file.close()
  }
}

async function fileSize(path: string): Promise<number> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new AppError('not-found', `there is no file at ${path}: ${reasonOf(cause)}`, { cause })
  })
  if (info.isDirectory())
    throw new AppError('invalid-input', `${path} is a folder, not a GGUF file`)
  if (!info.isFile()) throw new AppError('invalid-input', `${path} is not a regular file`)
  if (info.size === 0) throw new AppError('corrupt', `${path} is empty (0 bytes)`)
  return info.size
}

async function readStart(file: FileHandle, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
  return buffer.subarray(0, bytesRead)
}

function checkMagic(path: string, start: Buffer): void {
  if (start.toString('latin1', 0, 4) !== 'GGUF')
    throw new AppError('corrupt', `${path} is not a GGUF file: it does not begin with "GGUF"`)
  if (start.length < 24)
    throw new AppError('corrupt', `${path} is cut off inside its first 24 bytes`)
  const version = start.readUInt32LE(4)
  if (version >= 2 && version <= 3) return
  const swapped = start.readUInt32BE(4)
  throw swapped >= 1 && swapped <= 3
    ? new AppError(
        'unsupported',
        `${path} is a big-endian GGUF file; this machine needs little-endian`,
      )
    : new AppError(
        'unsupported',
        `${path} has GGUF version ${version}; versions 2 and 3 can be read`,
      )
}

interface HeaderSource {
  readonly path: string
  readonly sizeBytes: number
  readonly start: Buffer
}

async function readHeader(file: FileHandle, source: HeaderSource): Promise<GgufSummary> {
  const { path, sizeBytes } = source
  let bytes = source.start
  for (;;) {
    try {
      const header = parseHeader(path, bytes, sizeBytes)
      await checkParts(path, header.fields)
      return summarise(header, sizeBytes)
    } catch (error) {
      if (isAppError(error) || !(error instanceof RangeError)) throw error
      if (bytes.length >= Math.min(sizeBytes, largestHeaderBytes))
        throw new AppError('corrupt', `${path} is cut off inside its header (${sizeBytes} bytes)`)
      bytes = await readStart(file, Math.min(sizeBytes, bytes.length * 4, largestHeaderBytes))
    }
  }
}

interface Header {
  readonly fields: ReadonlyMap<string, Scalar>
  readonly tensors: ReadonlyMap<string, readonly number[]>
}

/** Throws a plain RangeError when `bytes` ends inside the header. */
function parseHeader(path: string, bytes: Buffer, sizeBytes: number): Header {
  const reader = createReader(bytes, 8)
  const tensors = reader.uint64()
  const entries = reader.uint64()
  // A tensor's entry takes at least 24 bytes, a field's at least 13.
  if (tensors * 24 > sizeBytes || entries * 13 > sizeBytes)
    throw new AppError(
      'corrupt',
      `${path} claims ${tensors} tensors and ${entries} fields, more than its ${sizeBytes} bytes can hold`,
    )
  const fields = new Map<string, Scalar>()
  for (let i = 0; i < entries; i++) {
    const key = reader.string()
    const value = reader.value(reader.uint32())
    if (value !== null) fields.set(key, value)
  }
  const shapes = new Map<string, readonly number[]>()
  let dataBytes = 0
  for (let i = 0; i < tensors; i++) {
    const tensor = readTensor(reader)
    shapes.set(tensor.name, tensor.shape)
    dataBytes = Math.max(dataBytes, tensor.endBytes)
  }
  const alignment = Number(fields.get('general.alignment') ?? 32)
  const dataStart = Math.ceil(reader.position() / alignment) * alignment
  if (dataStart + dataBytes > sizeBytes)
    throw new AppError(
      'corrupt',
      `${path} is cut off: its tensors need ${dataStart + dataBytes} bytes, the file has ${sizeBytes}`,
    )
  return { fields, tensors: shapes }
}

interface TensorEntry {
  readonly name: string
  readonly shape: readonly number[]
  /** Where its bytes end, counted from the start of the data. */
  readonly endBytes: number
}

function readTensor(reader: Reader): TensorEntry {
  const name = reader.string()
  const dimensions = reader.uint32()
  if (dimensions > 8)
    throw new AppError('corrupt', `tensor ${name} claims ${dimensions} dimensions`)
  const shape: number[] = []
  for (let i = 0; i < dimensions; i++) shape.push(reader.uint64())
  const elements = shape.reduce((product, length) => product * length, 1)
  const block = blockSizes[reader.uint32()]
  const offset = reader.uint64()
  const bytes = block === undefined ? 0 : (elements / block[0]) * block[1]
  return { name, shape, endBytes: offset + bytes }
}

interface Reader {
  position(): number
  uint32(): number
  uint64(): number
  string(): string
  /** null for an array, which is only skipped. */
  value(type: number): Scalar | null
}

function createReader(bytes: Buffer, start: number): Reader {
  let at = start
  function take(length: number): number {
    if (at + length > bytes.length) throw new RangeError('the bytes end here')
    const from = at
    at += length
    return from
  }
  const reader: Reader = {
    position: () => at,
    uint32: () => bytes.readUInt32LE(take(4)),
    uint64: () => Number(bytes.readBigUInt64LE(take(8))),
    string() {
      const length = reader.uint64()
      const from = take(length)
      return bytes.toString('utf8', from, from + length)
    },
    value(type) {
      if (type === 8) return reader.string()
      if (type === 9) {
        skipArray()
        return null
      }
      const size = scalarBytes[type]
      if (size === undefined)
        throw new AppError('corrupt', `the header has a value of unknown type ${type}`)
      return scalar(bytes, take(size), type)
    },
  }
  function skipArray(): void {
    const type = reader.uint32()
    const count = reader.uint64()
    const size = scalarBytes[type]
    if (size !== undefined) take(size * count)
    else for (let i = 0; i < count; i++) type === 8 ? take(reader.uint64()) : reader.value(type)
  }
  return reader
}

function scalar(bytes: Buffer, at: number, type: number): Scalar {
  switch (type) {
    case 0:
      return bytes.readUInt8(at)
    case 1:
      return bytes.readInt8(at)
    case 2:
      return bytes.readUInt16LE(at)
    case 3:
      return bytes.readInt16LE(at)
    case 4:
      return bytes.readUInt32LE(at)
    case 5:
      return bytes.readInt32LE(at)
    case 6:
      return bytes.readFloatLE(at)
    case 7:
      return bytes.readUInt8(at) !== 0
    case 10:
      return bytes.readBigUInt64LE(at)
    case 11:
      return bytes.readBigInt64LE(at)
    default:
      return bytes.readDoubleLE(at)
  }
}

async function checkParts(path: string, fields: ReadonlyMap<string, Scalar>): Promise<void> {
  const parts = Number(fields.get('split.count') ?? 1)
  if (parts <= 1) return
  const pattern = /^(.*)-\d{5}-of-\d{5}\.gguf$/
  const stem = pattern.exec(basename(path))?.[1]
  if (stem === undefined)
    throw new AppError(
      'invalid-input',
      `${path} is one of ${parts} parts but its name does not say which`,
    )
  const total = String(parts).padStart(5, '0')
  for (let part = 1; part <= parts; part++) {
    const name = `${stem}-${String(part).padStart(5, '0')}-of-${total}.gguf`
    await stat(join(dirname(path), name)).catch((cause: unknown) => {
      throw new AppError('not-found', `part ${part} of ${parts} is missing: ${name}`, { cause })
    })
  }
}

function summarise(header: Header, sizeBytes: number): GgufSummary {
  return {
    sizeBytes,
    architecture: String(header.fields.get('general.architecture') ?? ''),
    kind: String(header.fields.get('general.type') ?? 'model'),
    tensors: header.tensors,
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = (cause as NodeJS.ErrnoException).code
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied'
  if (code === 'ENAMETOOLONG') return 'the name is too long'
  return cause.message
}
