// How one field becomes one column and back. Decoding never trusts: it throws a `RowError` with the
// fact, and the row goes to quarantine.
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'

export interface Codec<Value> {
  encode(value: Value): SQLInputValue
  decode(stored: SQLOutputValue): unknown
}

/** A column that cannot be read. */
export class RowError extends Error {}

/** Text, numbers and null as they are; the row's schema checks them. */
export const plain: Codec<string | number | null> = {
  encode: (value) => value,
  decode: (stored) => stored,
}

export const flag: Codec<boolean> = {
  encode: (value) => (value ? 1 : 0),
  decode: (stored) => (stored === 1 ? true : stored === 0 ? false : stored),
}

export const json: Codec<unknown> = {
  encode: (value) => JSON.stringify(value),
  decode: (stored) => parseJson(stored),
}

/** JSON, deflated: for the big records that are read seldom. */
export const packed: Codec<unknown> = {
  encode: (value) => deflateRawSync(JSON.stringify(value)),
  decode: (stored) => parseJson(inflate(asBytes(stored))),
}

/** Token ids as 32-bit integers. All platforms of Hone are little-endian, so files can be moved. */
export const ids: Codec<readonly number[]> = {
  encode: (values) => {
    const stored = Int32Array.from(values)
    const bad = values.find((value, index) => stored[index] !== value)
    if (bad !== undefined) throw new RowError(`${bad} does not fit into 32 bits`)
    return stored
  },
  decode: (stored) => Array.from(new Int32Array(alignedBytes(stored, 4))),
}

/** Doubles, bit by bit. */
export const doubles: Codec<readonly number[]> = {
  encode: (values) => Float64Array.from(values),
  decode: (stored) => Array.from(new Float64Array(alignedBytes(stored, 8))),
}

export function nullable<Value>(codec: Codec<Value>): Codec<Value | null> {
  return {
    encode: (value) => (value === null ? null : codec.encode(value)),
    decode: (stored) => (stored === null ? null : codec.decode(stored)),
  }
}

function parseJson(stored: SQLOutputValue): unknown {
  if (typeof stored !== 'string') throw new RowError(`expected JSON, found ${typeof stored}`)
  try {
    return JSON.parse(stored)
  } catch (error) {
    throw new RowError('expected JSON, found other text', { cause: error })
  }
}

function inflate(bytes: Uint8Array): string {
  try {
    return inflateRawSync(bytes).toString('utf8')
  } catch (error) {
    throw new RowError('the compressed record is damaged', { cause: error })
  }
}

function asBytes(stored: SQLOutputValue): Uint8Array {
  if (stored instanceof Uint8Array) return stored
  throw new RowError(`expected bytes, found ${stored === null ? 'nothing' : typeof stored}`)
}

function alignedBytes(stored: SQLOutputValue, size: number): ArrayBuffer {
  const bytes = asBytes(stored)
  if (bytes.byteLength % size !== 0) {
    throw new RowError(`expected whole numbers of ${size} bytes, found ${bytes.byteLength} bytes`)
  }
  return new Uint8Array(bytes).buffer
}
