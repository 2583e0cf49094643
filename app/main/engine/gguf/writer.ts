// Writes small GGUF files (adapters, tiny test models) atomically: a temporary name, fsync, rename. A reader
// never sees half a file, and a failed write leaves the old one.
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { AppError, isAppError } from '../../../shared/errors.ts'

/** Metadata with its GGUF type; whole numbers become uint32. */
export type GgufEntry =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'uint32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'int32s'; readonly value: Int32Array }
  | { readonly type: 'float32s'; readonly value: Float32Array }

export interface GgufWriteTensor {
  readonly name: string
  /** Sizes, fastest axis first. */
  readonly shape: readonly number[]
  readonly data: Float32Array
}

export interface GgufContent {
  readonly metadata: ReadonlyMap<string, GgufEntry>
  readonly tensors: readonly GgufWriteTensor[]
}

const alignment = 32
const version = 3
const typeF32 = 0
const valueNumbers = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const

/** llama.cpp keeps names in 64 bytes, with a zero at the end. */
const maxNameBytes = 63
const maxKeyBytes = 65_535
const maxStringBytes = 16 * 2 ** 20
const maxDimensions = 4

export async function writeGguf(target: string, content: GgufContent): Promise<void> {
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}.tmp`)
  try {
    const file = await open(temporary, 'w')
    try {
      for (const part of encodeGguf(content)) await file.writeFile(part)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
    await syncFolder(path.dirname(target))
  } catch (cause) {
    await rm(temporary, { force: true })
    throw writeError(target, cause)
  }
}

function writeError(target: string, cause: unknown): unknown {
  // Contents that cannot be written have their own reason; what is not the system's is a bug.
  if (!(cause instanceof Error) || !('code' in cause) || isAppError(cause)) return cause
  const reason = (cause as NodeJS.ErrnoException).code
  const codes = {
    ENOSPC: 'disk-full',
    EDQUOT: 'disk-full',
    EACCES: 'read-only',
    EROFS: 'read-only',
  } as const
  const code = codes[reason as keyof typeof codes] ?? 'unavailable'
  return new AppError(code, `the file ${target} could not be written`, { cause })
}

/** Makes the rename itself durable; some systems cannot open folders, and then it has to be enough. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * The bytes of a file in order: header, then each tensor's data with its padding. Throws `invalid-input` for contents
 * that a reader would refuse or give back changed.
 */
export function* encodeGguf(content: GgufContent): Generator<Uint8Array> {
  const header = encodeHeader(content)
  yield header
  yield new Uint8Array(paddingAfter(header.byteLength))
  for (const tensor of content.tensors) {
    const { buffer, byteOffset, byteLength } = tensor.data
    yield new Uint8Array(buffer, byteOffset, byteLength)
    yield new Uint8Array(paddingAfter(byteLength))
  }
}

function paddingAfter(length: number): number {
  return (alignment - (length % alignment)) % alignment
}

function encodeHeader({ metadata, tensors }: GgufContent): Uint8Array {
  const parts: Uint8Array[] = [
    Buffer.from('GGUF'),
    uint32(version),
    uint64(tensors.length),
    uint64(metadata.size),
  ]
  for (const [key, entry] of metadata) {
    if (key === 'general.alignment') throw refused(`the alignment is always ${alignment}`)
    parts.push(text(`the key ${shown(key)}`, key, maxKeyBytes))
    for (const part of encodeEntry(shown(key), entry)) parts.push(part)
  }
  const names = new Set<string>()
  let offset = 0
  for (const tensor of tensors) {
    if (names.has(tensor.name)) throw refused(`the tensor ${shown(tensor.name)} appears twice`)
    names.add(tensor.name)
    checkShape(tensor)
    const name = text(`the name ${shown(tensor.name)}`, tensor.name, maxNameBytes)
    parts.push(name, uint32(tensor.shape.length), ...tensor.shape.map(uint64))
    parts.push(uint32(typeF32), uint64(offset))
    offset += tensor.data.byteLength + paddingAfter(tensor.data.byteLength)
  }
  return Buffer.concat(parts)
}

function checkShape({ name, shape, data }: GgufWriteTensor): void {
  const what = `the tensor ${shown(name)}`
  if (shape.length < 1 || shape.length > maxDimensions) {
    throw refused(`${what} has ${shape.length} sizes`)
  }
  const odd = shape.find((size) => !Number.isSafeInteger(size) || size < 1)
  if (odd !== undefined) throw refused(`${what} has the size ${odd}`)
  const elements = shape.reduce((product, size) => product * size, 1)
  if (elements !== data.length) {
    throw refused(`expected ${elements} numbers in ${what}, found ${data.length}`)
  }
}

function encodeEntry(key: string, entry: GgufEntry): Uint8Array[] {
  switch (entry.type) {
    case 'string':
      return [uint32(valueNumbers.string), text(key, entry.value)]
    case 'uint32':
      return [uint32(valueNumbers.uint32), uint32(wholeNumber(key, entry.value))]
    case 'float32':
      return [uint32(valueNumbers.float32), float32(entry.value)]
    case 'bool':
      return [uint32(valueNumbers.bool), Uint8Array.of(entry.value ? 1 : 0)]
    case 'strings':
      return [
        ...arrayHead(valueNumbers.string, entry.value.length),
        ...entry.value.map((value) => text(key, value)),
      ]
    case 'int32s':
      return [...arrayHead(valueNumbers.int32, entry.value.length), bytesOf(entry.value)]
    case 'float32s':
      return [...arrayHead(valueNumbers.float32, entry.value.length), bytesOf(entry.value)]
  }
}

/** Buffers would round a fraction and write 0 for NaN. */
function wholeNumber(key: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value
  throw refused(`${key} is ${value}, not a 32-bit number`)
}

function arrayHead(elementType: number, length: number): Uint8Array[] {
  return [uint32(valueNumbers.array), uint32(elementType), uint64(length)]
}

function bytesOf(values: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** Half a surrogate pair has no UTF-8 form: it would come back as another character. */
function text(what: string, value: string, maxBytes = maxStringBytes): Uint8Array {
  if (!value.isWellFormed()) throw refused(`${what} is not well-formed text`)
  const bytes = Buffer.from(value)
  if (bytes.length > maxBytes) {
    throw refused(`${what} has ${bytes.length} bytes, at most ${maxBytes} can be read`)
  }
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

function refused(message: string): AppError {
  return new AppError('invalid-input', message)
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
