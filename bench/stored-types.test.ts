import { expect, test } from 'vitest'
import { tensorTypes } from '../app/main/engine/ffi/ggml.gen.ts'
import { encode, storedTypes } from './stored-types.ts'

const numbers = Float32Array.from({ length: 64 }, (_, i) => (i - 32) / 64)

test('the stored forms have the numbers and sizes that ggml gives them', () => {
  for (const type of storedTypes) {
    const { number, bytes, values } = encode[type]
    const facts = tensorTypes[number as keyof typeof tensorTypes]
    expect(facts.name).toBe(type)
    expect(bytes(64)).toBe((64 / facts.block) * facts.bytes)
    expect(values(numbers).buffer.byteLength).toBe(bytes(64))
  }
})

test('bf16 keeps the upper half, rounded', () => {
  const bits = new Uint16Array(
    encode.bf16.values(Float32Array.of(1, -0.5, 1 + 2 ** -8 + 2 ** -9)).buffer,
  )
  expect([...bits]).toEqual([0x3f80, 0xbf00, 0x3f81])
})

test('q8_0 stores each number as a multiple of its block’s scale', () => {
  const view = new DataView(encode.q8_0.values(numbers).buffer)
  expect(view.getUint16(0, true)).toBe(view.getUint16(34, true))
  expect([0, 1, 31].map((i) => view.getInt8(2 + i) / 256)).toEqual([-127 / 256, -31 / 64, -1 / 64])
  expect(view.getInt8(36 + 1) / 256).toBe(1 / 64)
})
