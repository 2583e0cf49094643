// What the value head of `ppo-gae` learns: ½·(V − return)², V = w·x + b. The states x get no gradient.
import { at } from './surrogate.ts'

export interface ValueWeights {
  /** w, [C]. */
  readonly w: Float32Array
  /** b, [1]. */
  readonly b: Float32Array
}

/** V of each state; `states` is [R, C]. */
export function valuesOf(states: Float32Array, { w, b }: ValueWeights): Float32Array {
  return Float32Array.from({ length: states.length / w.length }, (_, t) => {
    const row = states.subarray(t * w.length, (t + 1) * w.length)
    return row.reduce((sum, x, c) => sum + x * at(w, c), at(b, 0))
  })
}

export interface ValueLossResult {
  /** mean_t ½·(V_t − G_t)². */
  readonly loss: number
  /** d loss / d w and d loss / d b. */
  readonly gradient: ValueWeights
}

/** `returns`: G_t, [R]. */
export function valueLoss(
  states: Float32Array,
  returns: ArrayLike<number>,
  weights: ValueWeights,
): ValueLossResult {
  const width = weights.w.length
  const gradient = { w: new Float32Array(width), b: new Float32Array(1) }
  const values = valuesOf(states, weights)
  let loss = 0
  for (let t = 0; t < values.length; t++) {
    const error = (at(values, t) - at(returns, t)) / values.length
    loss += (error * (at(values, t) - at(returns, t))) / 2
    for (let c = 0; c < width; c++) {
      gradient.w[c] = at(gradient.w, c) + error * at(states, t * width + c)
    }
    gradient.b[0] = at(gradient.b, 0) + error
  }
  return { loss, gradient }
}
