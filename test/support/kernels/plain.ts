// The kernels' operators without attention and head in plain f64 arithmetic, from their definitions alone: the
// yardstick for native/. Every backward function is the exact vector–Jacobian product of its forward function, which
// plain.test.ts checks with finite differences. Matrices are in ggml's order, one row per token.

export type Numbers = ArrayLike<number>

export const at = (x: Numbers, i: number): number => x[i] ?? NaN

/** w [k, n], x [k, T] → [n, T]. */
export function multiply(
  w: Numbers,
  x: Numbers,
  { n, k, T }: { readonly n: number; readonly k: number; readonly T: number },
): Float64Array {
  const y = new Float64Array(n * T)
  for (let t = 0; t < T; t += 1) {
    for (let row = 0; row < n; row += 1) {
      let sum = 0
      for (let i = 0; i < k; i += 1) sum += at(w, row * k + i) * at(x, t * k + i)
      y[t * n + row] = sum
    }
  }
  return y
}

/** a [m, T], b [n, T] → [m, n], the sum over T. */
export function outer(
  a: Numbers,
  b: Numbers,
  { m, n, T }: { readonly m: number; readonly n: number; readonly T: number },
): Float64Array {
  return Float64Array.from({ length: m * n }, (_, i) => {
    const [column, row] = [i % m, Math.floor(i / m)]
    let sum = 0
    for (let t = 0; t < T; t += 1) sum += at(a, t * m + column) * at(b, t * n + row)
    return sum
  })
}

export function sum(...terms: readonly Numbers[]): Float64Array {
  const [first = []] = terms
  return Float64Array.from(first, (_, i) => terms.reduce((all, x) => all + at(x, i), 0))
}

/** The rows of `x`, each of `size` numbers, changed one by one. */
export function byRow(
  x: Numbers,
  size: number,
  change: (row: Float64Array, index: number) => Numbers,
): Float64Array {
  const y = new Float64Array(x.length)
  for (let row = 0; row * size < x.length; row += 1) {
    const values = Float64Array.from({ length: size }, (_, i) => at(x, row * size + i))
    y.set(Array.from(change(values, row)), row * size)
  }
  return y
}

function inverseRms(x: Numbers, epsilon: number): number {
  let squares = 0
  for (let i = 0; i < x.length; i += 1) squares += at(x, i) ** 2
  return 1 / Math.sqrt(squares / x.length + epsilon)
}

/** x / rms(x) · weight, of every row. */
export function norm(x: Numbers, weight: Numbers, epsilon: number): Float64Array {
  return byRow(x, weight.length, (row) => {
    const r = inverseRms(row, epsilon)
    return row.map((value, i) => value * r * at(weight, i))
  })
}

/** With r = 1 / rms(x): dx_i = r w_i dy_i − r³ x_i mean(w dy x). */
export function normBack(
  dy: Numbers,
  of: { readonly x: Numbers; readonly weight: Numbers; readonly epsilon: number },
): Float64Array {
  const { x, weight, epsilon } = of
  const n = weight.length
  return byRow(x, n, (row, index) => {
    const r = inverseRms(row, epsilon)
    const scaled = row.map((_, i) => at(weight, i) * at(dy, index * n + i))
    const mean = row.reduce((all, value, i) => all + value * at(scaled, i), 0) / n
    return row.map((value, i) => r * at(scaled, i) - r ** 3 * value * mean)
  })
}

export interface Rotation {
  readonly size: number
  readonly style: 'pairs' | 'halves'
  /** 1 forth, −1 back. */
  readonly direction: 1 | -1
}

/** One head, rotated by the angles whose cosines, then sines `table` holds from `place` on. */
export function rotateHead(
  x: Numbers,
  { table, place }: { readonly table: Numbers; readonly place: number },
  { size, style, direction }: Rotation,
): Float64Array {
  const y = new Float64Array(size)
  for (let i = 0; i < size / 2; i += 1) {
    const [one, other] = style === 'pairs' ? [2 * i, 2 * i + 1] : [i, i + size / 2]
    const cos = at(table, place + i)
    const sin = at(table, place + size / 2 + i) * direction
    y[one] = at(x, one) * cos - at(x, other) * sin
    y[other] = at(x, one) * sin + at(x, other) * cos
  }
  return y
}

export type Activation = 'silu' | 'gelu'

/** silu(x) = x / (1 + e⁻ˣ); gelu in its form with tanh. */
export function activate(x: number, kind: Activation): number {
  if (kind === 'silu') return x / (1 + Math.exp(-x))
  return (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

function slope(x: number, kind: Activation): number {
  if (kind === 'silu') {
    const gate = 1 / (1 + Math.exp(-x))
    return gate + x * gate * (1 - gate)
  }
  const k = Math.sqrt(2 / Math.PI)
  const t = Math.tanh(k * (x + 0.044715 * x ** 3))
  return (1 + t) / 2 + (x / 2) * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x)
}

/** x [2F, T], gates above ups → [F, T]. */
export function gated(x: Numbers, F: number, kind: Activation): Float64Array {
  return Float64Array.from({ length: x.length / 2 }, (_, i) => {
    const gate = Math.floor(i / F) * 2 * F + (i % F)
    return activate(at(x, gate), kind) * at(x, gate + F)
  })
}

/** [2F, T]. */
export function gatedBack(
  dy: Numbers,
  { x, F, kind }: { readonly x: Numbers; readonly F: number; readonly kind: Activation },
): Float64Array {
  return byRow(x, 2 * F, (row, t) =>
    row.map((value, i) =>
      i < F
        ? at(dy, t * F + i) * at(row, F + i) * slope(value, kind)
        : at(dy, t * F + i - F) * activate(at(row, i - F), kind),
    ),
  )
}

/** [n · R, slices] → [n · R]. */
export function sumSlices(x: Numbers, slices: number): Float64Array {
  const count = x.length / slices
  return Float64Array.from({ length: count }, (_, i) => {
    let all = 0
    for (let slice = 0; slice < slices; slice += 1) all += at(x, slice * count + i)
    return all
  })
}
