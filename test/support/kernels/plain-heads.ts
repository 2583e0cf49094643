// Attention, rotation of all heads and the LM head in plain f64 arithmetic; see plain.ts. Letters: T tokens, D head
// size, H heads, K key–value heads, C width, V vocabulary, R positions, M ids per position.
import { at, byRow, multiply, norm, normBack, rotateHead, type Numbers } from './plain.ts'

export interface Heads {
  readonly D: number
  readonly H: number
  readonly K: number
  readonly T: number
}

export interface RotationOfHeads extends Heads {
  readonly style: 'pairs' | 'halves'
  readonly norms: { readonly q: Numbers; readonly k: Numbers; readonly epsilon: number } | null
}

/** x [D, H + 2K, T]: q and k heads normed where asked, then rotated; v copied. */
export function rotateHeads(x: Numbers, table: Numbers, of: RotationOfHeads): Float64Array {
  const { D, H, K, style, norms } = of
  const all = H + 2 * K
  return byRow(x, D, (row, index) => {
    const [head, t] = [index % all, Math.floor(index / all)]
    if (head >= H + K) return row
    const weight = head < H ? norms?.q : norms?.k
    const from = weight === undefined || norms === null ? row : norm(row, weight, norms.epsilon)
    return rotateHead(from, { table, place: t * D }, { size: D, style, direction: 1 })
  })
}

/** grad [D, 3H, T] (q, then k and v for each query head), `input` as rotateHeads took it → [D, H + 2K, T]. */
export function rotateHeadsBack(
  grad: Numbers,
  { table, input }: { readonly table: Numbers; readonly input: Numbers },
  of: RotationOfHeads,
): Float64Array {
  const { D, H, K, T, style, norms } = of
  const [all, group] = [H + 2 * K, H / K]
  const empty = new Float64Array(D * all * T)
  return byRow(empty, D, (_, index) => {
    const [head, t] = [index % all, Math.floor(index / all)]
    const kind = head < H ? 0 : head < H + K ? 1 : 2
    const first = kind === 0 ? head : kind * H + (head - H - (kind - 1) * K) * group
    const total = Float64Array.from({ length: D }, (_value, d) => {
      let value = 0
      for (let m = 0; m < (kind === 0 ? 1 : group); m += 1) {
        value += at(grad, (t * 3 * H + first + m) * D + d)
      }
      return value
    })
    if (kind === 2) return total
    const back = rotateHead(total, { table, place: t * D }, { size: D, style, direction: -1 })
    const weight = kind === 0 ? norms?.q : norms?.k
    if (weight === undefined || norms === null) return back
    const x = Float64Array.from({ length: D }, (_value, d) => at(input, index * D + d))
    return normBack(back, { x, weight, epsilon: norms.epsilon })
  })
}

export interface AttentionShape extends Heads {
  readonly scale: number
  /** [2, T]: a token sees the keys before the second number and those from the first on to itself. */
  readonly places: Numbers
}

function keysOf(t: number, places: Numbers): number[] {
  const [start, prefix] = [at(places, 2 * t), at(places, 2 * t + 1)]
  return Array.from({ length: t + 1 }, (_, s) => s).filter((s) => s < prefix || s >= start)
}

/** Weights over the keys that each query of each head sees. */
function* lines(qkv: Numbers, { D, H, K, T, scale, places }: AttentionShape) {
  const row = (head: number, t: number): number => (t * (H + 2 * K) + head) * D
  for (let head = 0; head < H; head += 1) {
    const shared = Math.floor((head * K) / H)
    for (let t = 0; t < T; t += 1) {
      const keys = keysOf(t, places)
      const scores = keys.map((s) => {
        let score = 0
        const [q, k] = [row(head, t), row(H + shared, s)]
        for (let d = 0; d < D; d += 1) score += at(qkv, q + d) * at(qkv, k + d)
        return score * scale
      })
      const most = scores.reduce((a, b) => Math.max(a, b), -Infinity)
      const weights = scores.map((score) => Math.exp(score - most))
      const total = weights.reduce((a, b) => a + b, 0)
      yield {
        head,
        t,
        keys,
        p: weights.map((w) => w / total),
        sum: most + Math.log(total),
        row,
        shared,
      }
    }
  }
}

/** qkv [D, H + 2K, T] → attended [D · H, T], and the logarithm of each query's sum [H, T]. */
export function attention(qkv: Numbers, of: AttentionShape) {
  const { D, H, K, T } = of
  const attended = new Float64Array(D * H * T)
  const sums = new Float64Array(H * T)
  for (const { head, t, keys, p, sum, row, shared } of lines(qkv, of)) {
    sums[t * H + head] = sum
    for (let d = 0; d < D; d += 1) {
      let value = 0
      keys.forEach((s, i) => (value += at(p, i) * at(qkv, row(H + K + shared, s) + d)))
      attended[(t * H + head) * D + d] = value
    }
  }
  return { attended, sums }
}

/** grad [D · H, T] → [D, 3H, T]: gradients of q, and those of k and v for every query head. */
export function attentionBack(grad: Numbers, qkv: Numbers, of: AttentionShape): Float64Array {
  const { D, H, K, T, scale } = of
  const y = new Float64Array(D * 3 * H * T)
  const add = (place: number, value: number): void => {
    y[place] = at(y, place) + value
  }
  for (const { head, t, keys, p, row, shared } of lines(qkv, of)) {
    const place = (kind: number, s: number): number => (s * 3 * H + kind * H + head) * D
    const dO = (t * H + head) * D
    const dp = keys.map((s) => {
      let value = 0
      const v = row(H + K + shared, s)
      for (let d = 0; d < D; d += 1) value += at(grad, dO + d) * at(qkv, v + d)
      return value
    })
    const mean = dp.reduce((all, value, i) => all + value * at(p, i), 0)
    keys.forEach((s, i) => {
      const ds = at(p, i) * (at(dp, i) - mean) * scale
      for (let d = 0; d < D; d += 1) {
        add(place(0, t) + d, ds * at(qkv, row(H + shared, s) + d))
        add(place(1, s) + d, ds * at(qkv, row(head, t) + d))
        add(place(2, s) + d, at(p, i) * at(grad, dO + d))
      }
    })
  }
  return y
}

export interface HeadShape {
  readonly C: number
  readonly V: number
  readonly R: number
  readonly temperature: number
}

/** w [C, V], hidden [C, R] → log-probabilities [V, R], and log Z [R]. */
export function logProbs(w: Numbers, hidden: Numbers, { C, V, R, temperature }: HeadShape) {
  const logits = multiply(w, hidden, { n: V, k: C, T: R }).map((value) => value / temperature)
  const logZ = new Float64Array(R)
  const values = byRow(logits, V, (row, r) => {
    const most = row.reduce((a, b) => Math.max(a, b), -Infinity)
    const z = most + Math.log(row.reduce((all, value) => all + Math.exp(value - most), 0))
    logZ[r] = z
    return row.map((value) => value - z)
  })
  return { logits, logZ, values }
}

/** Gradients of logits [V, R] → of the hidden states [C, R]. */
function toHidden(dLogits: Numbers, w: Numbers, { C, V, R }: HeadShape): Float64Array {
  const y = new Float64Array(C * R)
  for (let r = 0; r < R; r += 1) {
    for (let v = 0; v < V; v += 1) {
      const d = at(dLogits, r * V + v)
      for (let c = 0; c < C; c += 1) y[r * C + c] = at(y, r * C + c) + d * at(w, v * C + c)
    }
  }
  return y
}

/**
 * As the kernel defines it: Σ_v w_v (f₁ e^(logit_v − f₀) + Σ_{m: id_m = v} g_m), with f = `factors` [2, R]. That is
 * the gradient of Σ T g_m log p(id_m) where f₀ = log Z and f₁ = −Σ_m g_m.
 */
export function headBack(
  x: Readonly<Record<'w' | 'hidden' | 'factors' | 'ids' | 'gradients', Numbers>>,
  of: HeadShape,
): Float64Array {
  const { V, R } = of
  const { logits } = logProbs(x.w, x.hidden, of)
  const M = x.ids.length / R
  const d = byRow(logits, V, (row, r) => {
    const line = row.map((l) => Math.exp(l - at(x.factors, 2 * r)) * at(x.factors, 2 * r + 1))
    for (let m = 0; m < M; m += 1) {
      const id = at(x.ids, r * M + m)
      line[id] = at(line, id) + at(x.gradients, r * M + m)
    }
    return line
  })
  return toHidden(d, x.w, of)
}

/** KL(base ‖ θ) of each position from log Z of both and the gradient's factor, `factors` [3, R]; and its gradient. */
export function headKl(
  x: Readonly<Record<'w' | 'base' | 'hidden' | 'factors', Numbers>>,
  of: HeadShape,
) {
  const { V, R } = of
  const base = logProbs(x.w, x.base, of).logits
  const { logits } = logProbs(x.w, x.hidden, of)
  const kl = new Float64Array(R)
  const d = byRow(logits, V, (row, r) => {
    const [zp, zq, factor] = [0, 1, 2].map((i) => at(x.factors, 3 * r + i)) as [
      number,
      number,
      number,
    ]
    return row.map((logit, v) => {
      const [lp, lq] = [at(base, r * V + v) - zp, logit - zq]
      kl[r] = at(kl, r) + Math.exp(lp) * (lp - lq)
      return (Math.exp(lq) - Math.exp(lp)) * factor
    })
  })
  return { kl, gradient: toHidden(d, x.w, of) }
}
