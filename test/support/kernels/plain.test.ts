// The yardstick itself: every plain backward function against central differences of its forward function.
import { describe, expect, it } from 'vitest'
import { uniformOf } from '../numerics.ts'
import { at, gated, gatedBack, multiply, norm, normBack, outer, type Numbers } from './plain.ts'
import {
  attention,
  attentionBack,
  headBack,
  headKl,
  logProbs,
  rotateHeads,
  rotateHeadsBack,
} from './plain-heads.ts'

const dot = (a: Numbers, b: Numbers): number =>
  Array.from(a).reduce((all, value, i) => all + value * at(b, i), 0)

/** The gradient of Σ weights · forward(x) along three random directions. */
function expectGradient(
  x: Float64Array,
  forward: (x: Float64Array) => Float64Array,
  backward: (weights: Float64Array) => Float64Array,
): void {
  const weights = uniformOf('weights', forward(x).length)
  const gradient = backward(weights)
  expect(gradient).toHaveLength(x.length)
  for (const name of ['one', 'two', 'three']) {
    const direction = uniformOf(name, x.length)
    const step = 1e-5
    const moved = (sign: number): number =>
      dot(weights, forward(x.map((value, i) => value + sign * step * at(direction, i))))
    const numeric = (moved(1) - moved(-1)) / (2 * step)
    const exact = dot(gradient, direction)
    expect(Math.abs(numeric - exact)).toBeLessThan(1e-7 * (1 + Math.hypot(...gradient)))
  }
}

const epsilon = 1e-3

describe('plain vector–Jacobian products agree with central differences', () => {
  it('products: of the input by the turned matrix, of the matrix by outer products', () => {
    const [n, k, T] = [5, 4, 3]
    const [w, x] = [uniformOf('w', n * k), uniformOf('x', k * T)]
    const turned = w.map((_, i) => at(w, (i % n) * k + Math.floor(i / n)))
    expectGradient(
      x,
      (moved) => multiply(w, moved, { n, k, T }),
      (dy) => multiply(turned, dy, { n: k, k: n, T }),
    )
    expectGradient(
      w,
      (moved) => multiply(moved, x, { n, k, T }),
      (dy) => outer(x, dy, { m: k, n, T }),
    )
  })

  it('norm', () => {
    const [x, weight] = [uniformOf('x', 35), uniformOf('w', 7)]
    expectGradient(
      x,
      (moved) => norm(moved, weight, epsilon),
      (dy) => normBack(dy, { x, weight, epsilon }),
    )
  })

  it.each(['silu', 'gelu'] as const)('gated with %s', (kind) => {
    const x = uniformOf('x', 30).map((value) => 4 * value)
    expectGradient(
      x,
      (moved) => gated(moved, 5, kind),
      (dy) => gatedBack(dy, { x, F: 5, kind }),
    )
  })

  it.each([
    ['pairs', false],
    ['halves', false],
    ['pairs', true],
    ['halves', true],
  ] as const)('rotation of %s, norms: %s', (style, hasNorms) => {
    const norms = hasNorms ? { q: uniformOf('q', 6), k: uniformOf('k', 6), epsilon } : null
    const of = { D: 6, H: 4, K: 2, T: 3, style, norms }
    const [x, angles] = [uniformOf('x', 6 * 8 * 3), uniformOf('table', 9)]
    const table = Float64Array.from({ length: 18 }, (_, i) => {
      const angle = at(angles, Math.floor(i / 6) * 3 + (i % 3))
      return i % 6 < 3 ? Math.cos(angle) : Math.sin(angle)
    })
    expectGradient(
      x,
      (moved) => rotateHeads(moved, table, of),
      // The gradient of a shared head is given in unequal parts, one for each head of its group.
      (dy) => rotateHeadsBack(spreadToGroups(dy, of), { table, input: x }, of),
    )
  })

  it('attention with two sequences, a shared prefix and a window', () => {
    const places = [0, 0, 0, 0, 2, 2, 2, 2, 3, 2, 5, 2, 4, 1]
    const of = { D: 3, H: 4, K: 2, T: 7, scale: 0.7, places }
    const qkv = uniformOf('qkv', 3 * 8 * 7)
    expectGradient(
      qkv,
      (moved) => attention(moved, of).attended,
      (grad) => sumGroups(attentionBack(grad, qkv, of), of),
    )
  })

  it('gathered log-probabilities of the head', () => {
    const of = { C: 4, V: 9, R: 3, temperature: 0.6 }
    const [w, hidden] = [uniformOf('w', 36), uniformOf('hidden', 12)]
    const ids = [0, 3, 3, 8, 1, 2]
    const gather = (values: Float64Array): Float64Array =>
      Float64Array.from(ids, (id, i) => at(values, Math.floor(i / 2) * 9 + id))
    expectGradient(
      hidden,
      (moved) => gather(logProbs(w, moved, of).values),
      (dy) => {
        const gradients = dy.map((value) => value / of.temperature)
        const factors = Array.from(logProbs(w, hidden, of).logZ).flatMap((z, r) => [
          z,
          -at(gradients, 2 * r) - at(gradients, 2 * r + 1),
        ])
        return headBack({ w, hidden, factors, ids, gradients }, of)
      },
    )
  })

  it('KL to the base', () => {
    const of = { C: 4, V: 9, R: 3, temperature: 0.6 }
    const [w, hidden, base] = [uniformOf('w', 36), uniformOf('hidden', 12), uniformOf('b', 12)]
    const factorsOf = (moved: Numbers, factor: (r: number) => number): number[] => {
      const [p, q] = [logProbs(w, base, of).logZ, logProbs(w, moved, of).logZ]
      return Array.from(p).flatMap((z, r) => [z, at(q, r), factor(r)])
    }
    expectGradient(
      hidden,
      (moved) => headKl({ w, base, hidden: moved, factors: factorsOf(moved, () => 0) }, of).kl,
      (dy) => {
        const factors = factorsOf(hidden, (r) => at(dy, r) / of.temperature)
        return headKl({ w, base, hidden, factors }, of).gradient
      },
    )
  })
})

interface Heads {
  readonly D: number
  readonly H: number
  readonly K: number
}

/** [D, H + 2K, T] → [D, 3H, T], whose groups add up to the same. */
function spreadToGroups(dy: Float64Array, { D, H, K }: Heads): Float64Array {
  const [all, group] = [H + 2 * K, H / K]
  return Float64Array.from({ length: (dy.length / all) * 3 * H }, (_, i) => {
    const [d, head, t] = [i % D, Math.floor(i / D) % (3 * H), Math.floor(i / D / (3 * H))]
    const value = (from: number): number => at(dy, (t * all + from) * D + d)
    if (head < H) return value(head)
    const [kind, member] = [Math.floor(head / H), head % group]
    const share = group === 1 ? 1 : member === 0 ? 0.25 : 0.75 / (group - 1)
    return share * value(H + (kind - 1) * K + Math.floor((head % H) / group))
  })
}

/** [D, 3H, T] → [D, H + 2K, T]. */
function sumGroups(y: Float64Array, { D, H, K }: Heads): Float64Array {
  const [all, group] = [H + 2 * K, H / K]
  return Float64Array.from({ length: (y.length / 3 / H) * all }, (_, i) => {
    const [d, head, t] = [i % D, Math.floor(i / D) % all, Math.floor(i / D / all)]
    const value = (from: number): number => at(y, (t * 3 * H + from) * D + d)
    if (head < H) return value(head)
    const kind = head < H + K ? 1 : 2
    const first = kind * H + ((head - H) % K) * group
    return Array.from({ length: group }, (_m, m) => value(first + m)).reduce((a, b) => a + b)
  })
}
