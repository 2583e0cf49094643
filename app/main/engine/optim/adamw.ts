// AdamW (decoupled weight decay) over an adapter's numbers, with clipping of the whole gradient's norm.
// State is one pair of moments per number; it can be written to bytes and read back to resume exactly.
import { AppError } from '../../../shared/errors.ts'
import type { Adapter, AdapterGradients } from '../types.ts'

export interface AdamWOptions {
  readonly learningRate: number
  /** Decay of the first and second moments; default 0.9 and 0.98. */
  readonly beta1?: number
  readonly beta2?: number
  readonly epsilon?: number
  readonly weightDecay?: number
  /** Largest norm of the whole gradient; default 1. */
  readonly maxNorm?: number
}

export interface AdamW {
  /** Updates taken. */
  readonly steps: number
  /** One update; raises the adapter's revision and returns the gradient's norm before clipping. */
  step(gradients: AdapterGradients, options: AdamWOptions): { readonly norm: number }
  /** The state as bytes, for `adamw` to go on from. */
  serialise(): Uint8Array
}

interface Moments {
  readonly first: Float32Array
  readonly second: Float32Array
}

const magic = 0x574d4441 // "ADMW"
const headerWords = 4

/** An optimiser for one adapter, fresh or from the bytes of an earlier one. */
export function adamw(adapter: Adapter, state?: Uint8Array): AdamW {
  const parameters = adapter.tensors.flatMap((tensor) => [tensor.a, tensor.b])
  const size = parameters.reduce((sum, values) => sum + values.length, 0)
  const moments = { first: new Float32Array(size), second: new Float32Array(size) }
  let steps = state === undefined ? 0 : restore(state, moments)
  return {
    get steps() {
      return steps
    },
    step(gradients, options) {
      const lists = gradients.tensors.flatMap((tensor) => [tensor.a, tensor.b])
      const norm = gradientNorm(lists)
      const maxNorm = options.maxNorm ?? 1
      // The small number keeps the quotient finite, as in torch's clip_grad_norm_.
      const factor = Math.min(1, maxNorm / (norm + 1e-6))
      steps += 1
      update({ parameters, gradients: lists, moments, factor, steps }, options)
      adapter.revision += 1
      return { norm }
    },
    serialise: () => serialise(steps, moments),
  }
}

/** Euclidean norm over all gradients, summed in double precision. */
export function gradientNorm(gradients: readonly Float32Array[]): number {
  let sum = 0
  for (const values of gradients) {
    for (let i = 0; i < values.length; i += 1) sum += (values[i] as number) ** 2
  }
  return Math.sqrt(sum)
}

interface Update {
  readonly parameters: readonly Float32Array[]
  readonly gradients: readonly Float32Array[]
  readonly moments: Moments
  readonly factor: number
  readonly steps: number
}

function update(call: Update, options: AdamWOptions): void {
  const { beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8, weightDecay = 0, learningRate } = options
  const { first, second } = call.moments
  const correction1 = 1 - beta1 ** call.steps
  const correction2 = Math.sqrt(1 - beta2 ** call.steps)
  let at = 0
  call.parameters.forEach((values, p) => {
    const gradient = call.gradients[p]
    if (gradient?.length !== values.length) {
      throw new AppError('invalid-input', 'the gradients do not have the shapes of the adapter')
    }
    for (let i = 0; i < values.length; i += 1, at += 1) {
      const g = (gradient[i] as number) * call.factor
      const m = beta1 * (first[at] as number) + (1 - beta1) * g
      const v = beta2 * (second[at] as number) + (1 - beta2) * g * g
      first[at] = m
      second[at] = v
      const decayed = (values[i] as number) * (1 - learningRate * weightDecay)
      values[i] =
        decayed - (learningRate / correction1) * (m / (Math.sqrt(v) / correction2 + epsilon))
    }
  })
}

/** Magic, steps, count of numbers, 0; then first and second moments. Little-endian. */
function serialise(steps: number, moments: Moments): Uint8Array {
  const { first, second } = moments
  const header = Uint32Array.of(magic, steps, first.length, 0)
  return Buffer.concat([header, first, second].map((part) => Buffer.from(part.buffer)))
}

/** Fills the moments and returns the number of steps. */
function restore(state: Uint8Array, moments: Moments): number {
  const expected = headerWords * 4 + moments.first.byteLength * 2
  if (state.byteLength !== expected) {
    const message = `expected ${expected} bytes of optimiser state, found ${state.byteLength}`
    throw new AppError('corrupt', message)
  }
  // A copy of its own: the bytes may be a slice of a shared buffer at any offset.
  const bytes = Uint8Array.from(state).buffer
  const [found, steps = 0, count] = new Uint32Array(bytes, 0, headerWords)
  if (found !== magic || count !== moments.first.length) {
    throw new AppError('corrupt', 'the optimiser state belongs to another adapter')
  }
  moments.first.set(new Float32Array(bytes, headerWords * 4, count))
  moments.second.set(new Float32Array(bytes, headerWords * 4 + count * 4, count))
  return steps
}
