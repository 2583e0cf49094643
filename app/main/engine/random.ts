// Seeded random numbers, the same on every machine: a 32-bit counter-based generator and normal deviates.
// Not for secrets.

export interface RandomSource {
  /** Uniform in [0, 1). */
  uniform(): number
  /** Normal with mean 0 and variance 1 (Box and Muller). */
  normal(): number
}

export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0
  let spare: number | null = null
  const uniform = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    return scramble(state) / 2 ** 32
  }
  return {
    uniform,
    normal() {
      if (spare !== null) {
        const value = spare
        spare = null
        return value
      }
      // 1 − u lies in (0, 1], so the logarithm is finite.
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()))
      const angle = 2 * Math.PI * uniform()
      spare = radius * Math.sin(angle)
      return radius * Math.cos(angle)
    },
  }
}

/** Mixes the bits of a counter so that neighbours give unrelated numbers. */
export function scramble(counter: number): number {
  let bits = counter >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
