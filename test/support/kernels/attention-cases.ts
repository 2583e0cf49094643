// Attention, forward and backward: sizes that are multiples of nothing, and every kind of places.
import { ops } from '../../../app/main/engine/ffi/index.ts'
import type { KernelCase, Operands, Values } from './bench.ts'
import { randomValues } from './linear-cases.ts'
import { needed } from './needed.ts'
import { attention, attentionBack, type AttentionShape, type Heads } from './plain-heads.ts'

interface AttentionSize extends Heads {
  readonly scale?: number
  readonly kind?: 'one sequence' | 'packed' | 'shared prefix' | 'window' | 'prefix and window'
  /** Heads written by one node; default: all. */
  readonly part?: number
}

/** Of each token the first that it sees, and the end of the prefix that it sees too. */
function placesOf({ T, kind = 'one sequence' }: AttentionSize): Int32Array {
  const place = (t: number): readonly [start: number, prefix: number] => {
    // Three sequences of unequal lengths.
    const starts = [0, Math.floor(T / 5), Math.floor(T / 2)]
    const start = starts.findLast((first) => first <= t) ?? 0
    const prefix = Math.floor(T / 5)
    const window = Math.max(0, t - 20)
    if (kind === 'packed') return [start, 0]
    if (kind === 'shared prefix') return [start, t < prefix ? 0 : prefix]
    if (kind === 'window') return [window, 0]
    if (kind === 'prefix and window') return [Math.max(start, window), t < prefix ? 0 : prefix]
    return [0, 0]
  }
  return Int32Array.from(Array.from({ length: T }, (_, t) => place(t)).flat())
}

/**
 * Forward four factors are rounded: queries, keys, weights, values. Backward those and the gradients of scores and
 * results; where a gradient is a small difference the roundings count for more.
 */
const bounds = { forward: 6e-3, backward: 1e-2 }

function describe(size: AttentionSize): string {
  const { D, H, K, T, kind, part } = size
  const whole = `D ${D}, H ${H}, K ${K}, T ${T}`
  return [whole, kind ?? '', part === undefined ? '' : `${part} at once`].filter(Boolean).join(', ')
}

function* parts(heads: number, step: number): Generator<readonly [number, number]> {
  for (let first = 0; first < heads; first += step) yield [first, Math.min(step, heads - first)]
}

/** `sums` is a result forward and an input backward. */
const paramsOf = (
  { H, K, D, scale = 1 / Math.sqrt(D) }: AttentionSize,
  { inputs, beside }: Operands,
) => ({
  qkv: needed(inputs['qkv']),
  places: needed(inputs['places']),
  sums: needed(beside['sums'] ?? inputs['sums']),
  heads: H,
  keyValueHeads: K,
  scale,
})

const scratchOf = ({ D, T }: AttentionSize) => ({ tokens: T, headSize: D, width: 16 })

const shapeOf = (size: AttentionSize, places: ArrayLike<number>): AttentionShape => ({
  ...size,
  places,
  scale: size.scale ?? 1 / Math.sqrt(size.D),
})

const parametersOf = ({ D, H, K, scale = 1 / Math.sqrt(D) }: AttentionSize) => ({ H, K, scale })

function givenOf(size: AttentionSize) {
  const { D, H, K, T } = size
  const shapes = { qkv: [D, H + 2 * K, T] }
  const qkv = needed(randomValues(describe(size), shapes)['qkv']).map((value) => 2 * value)
  return { shapes, values: { qkv, places: placesOf(size) } }
}

function forwardCase(size: AttentionSize): KernelCase {
  const { D, H, K, T, part = K } = size
  const { shapes, values } = givenOf(size)
  return {
    operator: 'attention',
    name: describe(size),
    parameters: parametersOf(size),
    inputs: { ...shapes, places: [2, T] },
    result: [D * H, T],
    beside: { sums: [H, T] },
    scratch: scratchOf(size),
    values,
    build: (g, call, operands) =>
      [...parts(K, part)].map((range) =>
        ops.kernelAttention(g, call, { ...paramsOf(size, operands), part: range }),
      ),
    plain: ({ qkv, places }) => {
      const { attended, sums } = attention(needed(qkv), shapeOf(size, needed(places)))
      return { y: attended, sums }
    },
    rounding: { bound: bounds.forward, independent: K * T },
  }
}

function backwardCase(size: AttentionSize): KernelCase {
  const { D, H, T, part = H } = size
  const { shapes, values } = givenOf(size)
  const complete = (changed: Values): Values => {
    const of = shapeOf(size, needed(changed['places']))
    const { attended, sums } = attention(needed(changed['qkv']), of)
    return { ...changed, attended: Float32Array.from(attended), sums: Float32Array.from(sums) }
  }
  const more = { grad: [D * H, T], attended: [D * H, T], sums: [H, T] }
  return {
    operator: 'attention_back',
    name: describe(size),
    parameters: parametersOf(size),
    inputs: { ...shapes, places: [2, T], ...more },
    result: [D, 3 * H, T],
    scratch: scratchOf(size),
    values: complete({
      ...values,
      ...randomValues(`${describe(size)}, back`, { grad: more.grad }),
    }),
    complete,
    build: (g, call, operands) => {
      const { attended: o, grad } = operands.inputs
      const params = { ...paramsOf(size, operands), attended: needed(o), grad: needed(grad) }
      return [...parts(H, part)].map((range) =>
        ops.kernelAttentionBack(g, call, { ...params, part: range }),
      )
    },
    plain: ({ qkv, places, grad }) => ({
      y: attentionBack(needed(grad), needed(qkv), shapeOf(size, needed(places))),
    }),
    rounding: { bound: bounds.backward, independent: size.K * T },
  }
}

const sizes: readonly AttentionSize[] = [
  { D: 16, H: 1, K: 1, T: 1 },
  { D: 20, H: 2, K: 1, T: 33 },
  { D: 2, H: 1, K: 1, T: 7 },
  { D: 64, H: 6, K: 2, T: 65, part: 1 },
  { D: 80, H: 2, K: 1, T: 130, scale: 0.3 },
  { D: 128, H: 2, K: 2, T: 70 },
  // More keys than one block has.
  { D: 16, H: 3, K: 1, T: 257 },
  { D: 17, H: 2, K: 2, T: 301, kind: 'packed', part: 1 },
  { D: 16, H: 2, K: 1, T: 97, kind: 'packed' },
  { D: 16, H: 4, K: 2, T: 333, kind: 'shared prefix' },
  { D: 64, H: 2, K: 1, T: 150, kind: 'shared prefix' },
  { D: 20, H: 2, K: 1, T: 90, kind: 'window' },
  { D: 8, H: 4, K: 2, T: 29, kind: 'prefix and window' },
  // Blocks of keys that no query of a block sees.
  { D: 16, H: 1, K: 1, T: 650, kind: 'window' },
  { D: 16, H: 1, K: 1, T: 650, kind: 'prefix and window' },
]

export const attentionCases = sizes.map(forwardCase)
export const attentionBackCases = sizes.map(backwardCase)
