// Weights in ggml's stored forms, made from numbers between −0.5 and 0.5: for measuring products, not for models.
import { GGML_TYPE_F32 } from '../app/main/engine/ffi/ggml.gen.ts'

export const storedTypes = ['f32', 'bf16', 'q8_0'] as const

export type StoredType = (typeof storedTypes)[number]

interface Encoder {
  /** ggml's number of the type. */
  readonly number: number
  readonly bytes: (count: number) => number
  readonly values: (numbers: Float32Array) => { readonly buffer: ArrayBuffer }
}

/** Numbers in one block of q8_0. */
const block = 32
const blockBytes = 34

/** 1/256 as f16, fine for numbers up to a half. */
const scaleBits = 0x1c00

export const encode: Readonly<Record<StoredType, Encoder>> = {
  f32: {
    number: GGML_TYPE_F32,
    bytes: (count) => count * 4,
    values: (numbers) => numbers.slice(),
  },
  bf16: { number: 30, bytes: (count) => count * 2, values: toBf16 },
  q8_0: { number: 8, bytes: (count) => (count / block) * blockBytes, values: toQ8 },
}

/** The upper half of each f32, rounded to the nearest. */
function toBf16(numbers: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(numbers.slice().buffer)
  return Uint16Array.from(bits, (value) => (value + 0x8000) >>> 16)
}

/** Blocks of an f16 scale and 32 signed bytes. */
function toQ8(numbers: Float32Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((numbers.length / block) * blockBytes)
  const view = new DataView(bytes.buffer)
  for (let first = 0, at = 0; first < numbers.length; first += block, at += blockBytes) {
    view.setUint16(at, scaleBits, true)
    for (let i = 0; i < block; i += 1) {
      const whole = Math.round((numbers[first + i] ?? NaN) * 256)
      view.setInt8(at + 2 + i, Math.max(-127, Math.min(127, whole)))
    }
  }
  return bytes
}
