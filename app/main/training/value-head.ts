// The value head of `ppo-gae`: V = w·x + b on the policy's final hidden states, which get no gradient from it. Its
// numbers and its optimiser's state live in the run's state file, so that it goes on where the last run ended.
import { AppError } from '../../shared/errors.ts'
import type { Adapter } from '../engine/index.ts'
import { adamw } from '../engine/index.ts'
import { at } from './losses/surrogate.ts'
import { valueLoss, valuesOf } from './losses/value.ts'

/** With states of length 1 and 576 columns, one update moves a value by at most about a quarter. */
const learningRate = 0.01

export interface ValueExample {
  /** Final hidden states at the reply positions, [R, C]. */
  readonly hidden: Float32Array
  /** What each value should have been, [R]. */
  readonly returns: ArrayLike<number>
}

export interface ValueHead {
  /** V before each token of a reply, [R]. */
  values(hidden: Float32Array): Float32Array
  /** One update on mean ½·(V − return)², over tokens, then over replies; gives the loss before it, null for no reply. */
  step(examples: readonly ValueExample[]): number | null
  /** Weights and optimiser state, for `createValueHead` to go on from. */
  serialise(): Uint8Array
}

/** Starts at zero, so that a new head expects nothing and the same runs give the same bytes. */
export function createValueHead(width: number, state?: Uint8Array): ValueHead {
  const w = new Float32Array(width)
  const b = new Float32Array(1)
  // A linear map is one pair of the optimiser's: A holds w [1, C], B holds b [1, 1].
  const tensor = { name: 'value', inFeatures: width, outFeatures: 1, a: w, b }
  const parameters: Adapter = { rank: 1, alpha: 1, revision: 0, tensors: [tensor] }
  const optimiser = adamw(parameters, state && restore(state, { w, b }))
  return {
    values: (hidden) => valuesOf(unitRows(hidden, width), { w, b }),
    step(examples) {
      if (examples.length === 0) return null
      const share = 1 / examples.length
      const total = { a: new Float32Array(width), b: new Float32Array(1) }
      let loss = 0
      for (const { hidden, returns } of examples) {
        const result = valueLoss(unitRows(hidden, width), returns, { w, b })
        loss += share * result.loss
        addScaled(total.a, result.gradient.w, share)
        addScaled(total.b, result.gradient.b, share)
      }
      optimiser.step({ tensors: [total] }, { learningRate })
      return loss
    },
    serialise: () => Buffer.concat([w, b, optimiser.serialise()].map(bytesOf)),
  }
}

/** States scaled to length 1, so that the size of a step means the same in every model. [R, C] */
function unitRows(hidden: Float32Array, width: number): Float32Array {
  const rows = Float32Array.from(hidden)
  for (let first = 0; first < rows.length; first += width) {
    const row = rows.subarray(first, first + width)
    const length = Math.hypot(...row)
    if (length > 0) row.forEach((value, c) => (row[c] = value / length))
  }
  return rows
}

function addScaled(target: Float32Array, part: Float32Array, factor: number): void {
  part.forEach((value, index) => (target[index] = at(target, index) + factor * value))
}

function bytesOf(part: Float32Array | Uint8Array): Buffer {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength)
}

/** Fills the weights and returns what is left: the optimiser's state. */
function restore(
  state: Uint8Array,
  into: { readonly w: Float32Array; readonly b: Float32Array },
): Uint8Array {
  const { w, b } = into
  const needed = w.byteLength + b.byteLength
  if (state.byteLength < needed) {
    const message = `expected over ${needed} bytes of value head, found ${state.byteLength}`
    throw new AppError('corrupt', message)
  }
  // A copy of its own: the bytes may be a slice of a shared buffer at any offset.
  const numbers = new Float32Array(Uint8Array.from(state.subarray(0, needed)).buffer)
  w.set(numbers.subarray(0, w.length))
  b.set(numbers.subarray(w.length))
  return state.subarray(needed)
}
