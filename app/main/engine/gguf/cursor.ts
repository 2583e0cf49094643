// Sequential reading of little-endian values with a bounds check before every step.
import { AppError } from '../../../shared/errors.ts'
import type { GgufValueType } from './reader.ts'
import type { ByteSource } from './source.ts'

/** Bytes fetched at once: headers are small, so few reads suffice. */
const windowBytes = 256 * 1024

// A byte order mark is a character like any other here: it is a token of many vocabularies.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export class Cursor {
  readonly source: ByteSource
  offset: number
  #window: Uint8Array = new Uint8Array(0)
  #windowStart = 0

  constructor(source: ByteSource, offset = 0) {
    this.source = source
    this.offset = offset
  }

  get left(): number {
    return this.source.sizeBytes - this.offset
  }

  skip(length: number): void {
    if (length > this.left) {
      throw new AppError('corrupt', `the file is cut off at byte ${this.source.sizeBytes}`)
    }
    this.offset += length
  }

  uint32(): number {
    return this.#view(4).getUint32(0, true)
  }

  /** A 64-bit count that must not exceed `limit`. */
  count(what: string, limit: number): number {
    const value = this.#view(8).getBigUint64(0, true)
    if (value > BigInt(Math.max(0, limit))) {
      throw new AppError('corrupt', `the ${what} is ${value}, more than can be`)
    }
    return Number(value)
  }

  text(what: string, maxBytes: number): string {
    const length = this.count(`length of the ${what}`, Math.min(maxBytes, this.left))
    return decoder.decode(this.#bytes(length))
  }

  scalar(type: Exclude<GgufValueType, 'string' | 'array'>): number | bigint | boolean {
    switch (type) {
      case 'uint8':
        return this.#view(1).getUint8(0)
      case 'int8':
        return this.#view(1).getInt8(0)
      case 'uint16':
        return this.#view(2).getUint16(0, true)
      case 'int16':
        return this.#view(2).getInt16(0, true)
      case 'uint32':
        return this.uint32()
      case 'int32':
        return this.#view(4).getInt32(0, true)
      case 'float32':
        return this.#view(4).getFloat32(0, true)
      case 'bool':
        return this.#view(1).getUint8(0) !== 0
      case 'uint64':
        return this.#view(8).getBigUint64(0, true)
      case 'int64':
        return this.#view(8).getBigInt64(0, true)
      case 'float64':
        return this.#view(8).getFloat64(0, true)
    }
  }

  #view(length: number): DataView {
    const bytes = this.#bytes(length)
    return new DataView(bytes.buffer, bytes.byteOffset, length)
  }

  #bytes(length: number): Uint8Array {
    const start = this.offset
    this.skip(length)
    const begin = start - this.#windowStart
    if (begin >= 0 && begin + length <= this.#window.byteLength) {
      return this.#window.subarray(begin, begin + length)
    }
    const fetched = Math.max(length, Math.min(windowBytes, this.source.sizeBytes - start))
    this.#window = this.source.read(start, fetched)
    this.#windowStart = start
    return this.#window.subarray(0, length)
  }
}
