// Causal attention with grouped key–value heads, one block of queries at a time: a block sees only the keys
// before its end, which saves nearly half of the work and bounds the score matrix. The heads of a group are
// reshaped into the query axis, so keys and values are never repeated. Probabilities are recomputed backward.
// Letters: D head size, H heads, K key–value heads, G = H / K, T tokens, n queries of a block, E its last key.
import { ops, type Graph, type Tensor } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export interface AttentionParams {
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

/** Queries [start, end) of the block also see the keys [0, end). */
interface Block {
  readonly start: number
  readonly count: number
  readonly end: number
}

interface BlockCall {
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
  forward(g, { q, k, v }, { block, output }) {
    const sizes = sizesOf(q, k)
    const vT = ops.contiguous(g, ops.permute(g, v, [1, 0, 2, 3])) // [T, D, K]
    for (const b of blocksOf(sizes.T, block)) {
      const at = { sizes, b }
      const p = probabilities(g, { q: queriesOf(g, q, at), k }, at) // [E, n, H]
      const values = ops.view(g, vT, { shape: [b.end, sizes.D, sizes.K] })
      const o = ops.mulMat(g, values, byGroup(g, p, sizes)) // [D, G · n, K]
      storeQueries(g, o, { ...at, target: headsOf(g, output, sizes) })
    }
    return output
  },
  backward(g, { inputs: { q, k, v }, grad }, { block, gradients }) {
    if (gradients === undefined) throw new Error('attention needs a place for its gradients')
    const sizes = sizesOf(q, k)
    const kT = ops.contiguous(g, ops.permute(g, k, [1, 0, 2, 3])) // [T, D, K]
    const call = { q, k, v, kT, grad: headsOf(g, grad, sizes) }
    for (const b of [...blocksOf(sizes.T, block)].reverse()) {
      const at = { sizes, b }
      const part = blockBackward(g, call, at)
      storeQueries(g, part.dq, { ...at, target: gradients.q })
      accumulate(g, part.dk, { ...at, target: gradients.k })
      accumulate(g, part.dv, { ...at, target: gradients.v })
    }
    return gradients // [D, H, T], [D, T, K], [D, T, K]
  },
} satisfies Op<'q' | 'k' | 'v', AttentionParams>

function sizesOf(q: Tensor, k: Tensor): Sizes {
  return { D: q.shape[0], H: q.shape[1], K: k.shape[2], T: q.shape[2] }
}

function* blocksOf(T: number, size: number): Generator<Block> {
  for (let start = 0; start < T; start += size) {
    const end = Math.min(T, start + size)
    yield { start, count: end - start, end }
  }
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

function scaleOf({ D }: Sizes): number {
  return 1 / Math.sqrt(D)
}

/** Softmax of the masked scores of one block, [E, n, H]; q is [D, n, H]. */
function probabilities(g: Graph, { q, k }: { q: Tensor; k: Tensor }, at: BlockCall): Tensor {
  const { sizes, b } = at
  const keys = ops.view(g, k, { shape: [sizes.D, b.end, sizes.K] })
  const scores = ops.mulMat(g, keys, byGroup(g, q, sizes)) // [E, G · n, K]
  const heads = ops.reshape(g, scores, b.end, b.count, sizes.H)
  return ops.softMax(g, ops.maskFuture(g, heads, b.start), scaleOf(sizes))
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
  const values = ops.view(g, call.v, { shape: [sizes.D, b.end, sizes.K] })
  const dP = ops.mulMat(g, values, dO) // [E, G · n, K]
  const dy = ops.reshape(g, dP, b.end, b.count, sizes.H)
  const dS = byGroup(g, ops.softMaxBack(g, { dy, y }, scaleOf(sizes)), sizes) // [E, G · n, K]
  const keysT = ops.view(g, call.kT, { shape: [b.end, sizes.D, sizes.K] })
  return {
    dq: ops.mulMat(g, keysT, dS), // [D, G · n, K]
    dk: ops.outProd(g, byGroup(g, q, sizes), dS), // [D, E, K]
    dv: ops.outProd(g, dO, byGroup(g, y, sizes)), // [D, E, K]
  }
}

/** Adds a block's part [D, E, K] into target [D, T, K]; the last block, which comes first, sets it. */
function accumulate(g: Graph, part: Tensor, to: BlockCall & { readonly target: Tensor }): void {
  const { D, K, T } = to.sizes
  if (to.b.end === T) ops.copyInto(g, part, to.target)
  else ops.addInPlace(g, ops.view(g, to.target, { shape: [D, to.b.end, K] }), part)
}
