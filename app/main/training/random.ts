// Seeded choices inside a run: each has its own stream, so that one more draw here changes nothing there.
import { seededRandom } from '../engine/index.ts'

/** Numbers in [0, 1), the same for the same seed and place. */
export function randomAt(seed: number, place: number): () => number {
  // Odd multipliers spread neighbouring seeds and places over all 32 bits.
  return seededRandom(Math.imul(seed, 0x2c1b3c6d) ^ Math.imul(place + 1, 0x297a2d39)).uniform
}

/** `count` different indices below `length` (all of them when fewer), in rising order. */
export function pickIndices(
  random: () => number,
  options: { readonly length: number; readonly count: number },
): number[] {
  const left = Array.from({ length: options.length }, (_, index) => index)
  const picked: number[] = []
  while (picked.length < options.count && left.length > 0) {
    picked.push(...left.splice(Math.floor(random() * left.length), 1))
  }
  return picked.sort((first, second) => first - second)
}
