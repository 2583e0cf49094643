// Causal attention with grouped key–value heads, one block of queries at a time: a block sees only the keys
// before its end and, with a window, those from its first query's first key on, which saves work and bounds the
// score matrix. The heads of a group are reshaped into the query axis, so keys and values are never repeated.
// Probabilities are recomputed backward.
// Letters: D head size, H heads, K key–value heads, G = H / K, T tokens, n queries of a block, E its keys.
import { ops, type Graph, type Kernels, type Tensor } from '../../ffi/index.ts'
import type { Op } from './op.ts'
import { blocksOf, windowMasks, type Block } from './window.ts'

export interface AttentionParams {
  /** Factor on the scores before their softmax. */
  readonly scale: number
  /** Keys that a query sees, itself and those before it; null = all. */
  readonly window: number | null
  /** Ours for the products, in f32; absent or null = ggml's. */
  readonly kernels?: Kernels | null
  /** Queries in one block; a multiple of 16, so that ggml's fast products apply. */
  readonly block: number
  /** Where the result goes, [D · H, T]. */
  readonly output: Tensor
  /** Where the gradients go, shaped like the inputs; only for backward. */
  readonly gradients?: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor }
}

interface Sizes {
  readonly D: number
  readonly H: number
  readonly K: number
  readonly T: number
}

interface BlockCall {
  readonly kernels: Kernels | null
  readonly scale: number
  readonly maskOf: (b: Block) => Tensor | null
  readonly sizes: Sizes
  readonly b: Block
}

export const attention = {
  name: 'attention',
  inputs: ['q', 'k', 'v'],
  shape({ q, k, v }) {
    if (q[0] !== k[0] || q[2] !== k[1] || q[1] % k[2] !== 0 || String(k) !== String(v)) {
      throw new Error(`attention cannot take q [${q}], k [${k}], v [${v}]`)
    }
    return [q[0] * q[1], q[2], 1, 1] // [D · H, T]
  },
  forward(g, { q, k, v }, { block, output, scale, window, kernels = null }) {
    const sizes = sizesOf(q, k)
    const maskOf = windowMasks(g, window)
    const vT = ops.contiguous(g, ops.permute(g, v, [1, 0, 2, 3])) // [T, D, K]
    for (const b of blocksOf(sizes.T, { block, window })) {
      const at = { kernels, scale, maskOf, sizes, b }
      const p = probabilities(g, { q: queriesOf(g, q, at), k }, at) // [E, n, H]
      const values = ops.view(g, vT, { shape: [b.keys, sizes.D, sizes.K], offset: b.first })
      const o = matMul(g, at, [values, byGroup(g, p, sizes)]) // [D, G · n, K]
      storeQueries(g, o, { ...at, target: headsOf(g, output, sizes) })
    }
    return output
  },
  backward(g, { inputs: { q, k, v }, grad }, params) {
    const { block, gradients, scale, window, kernels = null } = params
    if (gradients === undefined) throw new Error('attention needs a place for its gradients')
    const sizes = sizesOf(q, k)
    const maskOf = windowMasks(g, window)
    const kT = ops.contiguous(g, ops.permute(g, k, [1, 0, 2, 3])) // [T, D, K]
    const call = { q, k, v, kT, grad: headsOf(g, grad, sizes) }
    let known = sizes.T
    for (const b of blocksOf(sizes.T, { block, window }).reverse()) {
      const at = { kernels, scale, maskOf, sizes, b }
      const part = blockBackward(g, call, at)
      storeQueries(g, part.dq, { ...at, target: gradients.q })
      accumulate(g, part.dk, { ...at, target: gradients.k, known })
      accumulate(g, part.dv, { ...at, target: gradients.v, known })
      known = b.first
    }
    return gradients // [D, H, T], [D, T, K], [D, T, K]
  },
} satisfies Op<'q' | 'k' | 'v', AttentionParams>

function sizesOf(q: Tensor, k: Tensor): Sizes {
  return { D: q.shape[0], H: q.shape[1], K: k.shape[2], T: q.shape[2] }
}

/** [D · H, T] seen as [D, H, T]. */
function headsOf(g: Graph, x: Tensor, { D, H, T }: Sizes): Tensor {
  return ops.view(g, x, { shape: [D, H, T], strides: [D, D * H] })
}

/** The block's tokens of x [D, H, T], packed head by head, [D, n, H]. */
function queriesOf(g: Graph, x: Tensor, { b, sizes: { D, H } }: BlockCall): Tensor {
  const tokens = ops.view(g, x, { shape: [D, H, b.count], offset: b.start * D * H })
  return ops.contiguous(g, ops.permute(g, tokens, [0, 2, 1, 3]))
}

/** [D, G · n, K] back to the block's tokens of target [D, H, T]. */
function storeQueries(g: Graph, x: Tensor, to: BlockCall & { readonly target: Tensor }): void {
  const { D, H } = to.sizes
  const heads = ops.reshape(g, x, D, to.b.count, H)
  const shape = [D, H, to.b.count]
  const place = ops.view(g, to.target, { shape, offset: to.b.start * D * H })
  ops.copyInto(g, ops.permute(g, heads, [0, 2, 1, 3]), place)
}

/** [m, n, H] seen as [m, G · n, K]: the heads of a group lie side by side. */
function byGroup(g: Graph, x: Tensor, { H, K }: Sizes): Tensor {
  return ops.reshape(g, x, x.shape[0], (x.shape[1] * H) / K, K)
}

/** Softmax of the masked scores of one block, [E, n, H]; q is [D, n, H]. */
function probabilities(g: Graph, { q, k }: { q: Tensor; k: Tensor }, at: BlockCall): Tensor {
  const { sizes, b } = at
  const scores = matMul(g, at, [keysOf(g, k, at), byGroup(g, q, sizes)]) // [E, G · n, K]
  const heads = ops.reshape(g, scores, b.keys, b.count, sizes.H)
  const causal = ops.maskFuture(g, heads, b.start - b.first)
  const mask = at.maskOf(b)
  if (mask === null) return ops.softMax(g, causal, at.scale)
  return ops.maskedSoftMax(g, { a: causal, mask }, at.scale)
}

/** The keys or values that a block sees, of x [D, T, K], [D, E, K]. */
function keysOf(g: Graph, x: Tensor, { sizes: { D, K }, b }: BlockCall): Tensor {
  return ops.view(g, x, { shape: [D, b.keys, K], offset: b.first * D })
}

function matMul(g: Graph, { kernels }: BlockCall, factors: readonly [Tensor, Tensor]): Tensor {
  return kernels === null ? ops.mulMat(g, ...factors) : ops.nativeMatMul(g, kernels, factors)
}

interface BackwardCall {
  readonly q: Tensor
  readonly k: Tensor
  readonly v: Tensor
  readonly kT: Tensor
  readonly grad: Tensor
}

function blockBackward(g: Graph, call: BackwardCall, at: BlockCall) {
  const { sizes, b } = at
  const q = queriesOf(g, call.q, at) // [D, n, H]
  const y = probabilities(g, { q, k: call.k }, at) // [E, n, H]
  const dO = byGroup(g, queriesOf(g, call.grad, at), sizes) // [D, G · n, K]
  const dP = matMul(g, at, [keysOf(g, call.v, at), dO]) // [E, G · n, K]
  const dy = ops.reshape(g, dP, b.keys, b.count, sizes.H)
  const dS = byGroup(g, ops.softMaxBack(g, { dy, y }, at.scale), sizes) // [E, G · n, K]
  const keysT = ops.view(g, call.kT, { shape: [b.keys, sizes.D, sizes.K], offset: b.first })
  return {
    dq: matMul(g, at, [keysT, dS]), // [D, G · n, K]
    dk: ops.outProd(g, byGroup(g, q, sizes), dS), // [D, E, K]
    dv: ops.outProd(g, dO, byGroup(g, y, sizes)), // [D, E, K]
  }
}

interface Accumulate extends BlockCall {
  readonly target: Tensor
  /** First key that a later block, computed before this one, has set. */
  readonly known: number
}

/** Adds a block's part [D, E, K] into target [D, T, K], and sets it where no block has been before. */
function accumulate(g: Graph, part: Tensor, to: Accumulate): void {
  const { D, K } = to.sizes
  const rows = (x: Tensor, first: number, count: number): Tensor =>
    count === x.shape[1] ? x : ops.view(g, x, { shape: [D, count, K], offset: first * D })
  const { first, end } = to.b
  const fresh = Math.min(to.known, end) - first
  if (fresh > 0) ops.copyInto(g, rows(part, 0, fresh), rows(to.target, first, fresh))
  const again = end - first - fresh
  if (again > 0) ops.addInPlace(g, rows(to.target, to.known, again), rows(part, fresh, again))
}
