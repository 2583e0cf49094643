// A valid GGUF file cut into its fields, so that a mutation can say "the second tensor's offset" instead of "byte 412".
// Walks only files that our own writer made; it is not a second reader.

export type Role =
  | 'magic'
  | 'version'
  | 'tensor-count'
  | 'key-count'
  | 'length'
  | 'text'
  | 'value-type'
  | 'array-length'
  | 'scalar'
  | 'dimension-count'
  | 'dimension'
  | 'tensor-type'
  | 'offset'
  | 'padding'
  | 'data'

export interface Segment {
  readonly role: Role
  readonly bytes: Uint8Array
  /** What it belongs to: `key 3`, `tensor 0`; empty for the preamble and the data. */
  readonly group: string
}

const alignment = 32
const arrayType = 9
const stringType = 8

/** Bytes of the fixed-size value types by number. */
const scalarBytes: Readonly<Record<number, number>> = {
  ...{ 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1 },
  ...{ 10: 8, 11: 8, 12: 8 },
}

export function segmentsOf(file: Uint8Array): Segment[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const segments: Segment[] = []
  let at = 0
  let group = ''
  const take = (role: Role, length: number): number => {
    const start = at
    segments.push({ role, bytes: file.subarray(start, start + length), group })
    at += length
    return start
  }
  const uint32 = (role: Role): number => view.getUint32(take(role, 4), true)
  const uint64 = (role: Role): number => Number(view.getBigUint64(take(role, 8), true))
  const text = (): void => void take('text', uint64('length'))
  const value = (type: number): void => {
    if (type === stringType) return text()
    if (type !== arrayType) return void take('scalar', scalarBytes[type] ?? 0)
    const elementType = uint32('value-type')
    const count = uint64('array-length')
    for (let i = 0; i < count; i += 1) value(elementType)
  }

  take('magic', 4)
  uint32('version')
  const tensorCount = uint64('tensor-count')
  const keyCount = uint64('key-count')
  for (let i = 0; i < keyCount; i += 1) {
    group = `key ${i}`
    text()
    value(uint32('value-type'))
  }
  for (let i = 0; i < tensorCount; i += 1) {
    group = `tensor ${i}`
    text()
    const dimensions = uint32('dimension-count')
    for (let d = 0; d < dimensions; d += 1) uint64('dimension')
    uint32('tensor-type')
    uint64('offset')
  }
  group = ''
  take('padding', (alignment - (at % alignment)) % alignment)
  take('data', file.byteLength - at)
  return segments
}

export function joined(segments: readonly Segment[]): Uint8Array {
  let length = 0
  for (const { bytes } of segments) length += bytes.byteLength
  const file = new Uint8Array(length)
  let at = 0
  for (const { bytes } of segments) {
    file.set(bytes, at)
    at += bytes.byteLength
  }
  return file
}
