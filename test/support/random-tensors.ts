// The integer generator of test/fixtures/numerics/reference_models.py: numbers that depend on a name alone.
import { scramble } from '../../app/main/engine/random.ts'

const golden = 0x9e3779b9

/** FNV-1a, 32 bits. */
function seedOf(name: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(name)) value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}

/** Numbers in [−1, 1) that depend on the name alone. */
export function uniformOf(name: string, count: number): Float64Array {
  const seed = seedOf(name)
  return Float64Array.from({ length: count }, (_, i) => {
    const state = (seed + Math.imul(i + 1, golden)) >>> 0
    return scramble(state) / 2 ** 31 - 1
  })
}

export function randomTensor(
  name: string,
  count: number,
  options: { scale: number; offset?: number },
): Float32Array {
  const { scale, offset = 0 } = options
  return Float32Array.from(uniformOf(name, count), (value) => offset + scale * value)
}
