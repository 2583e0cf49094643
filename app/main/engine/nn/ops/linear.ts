// A group of linear layers with one input (q·k·v, gate·up, or a single layer), each with a LoRA pair.
// ggml's products are slow where the inner size is the rank, so B stands in extra columns of the weights:
//   h = A x,  y = [W | s B] [x ; h]     and backward  dh = (s B)ᵀ dy,  dx = [Wᵀ | Aᵀ] [dy ; dh].
// The base model uses the same weights without the extra columns. Letters: I inputs, O outputs of all members
// together, P padded rank of all members together (their blocks lie on the diagonal, the rest is zero).
// On our kernels packed-linear.ts does the same instead.
import { ops, type Graph, type Slot, type Tensor } from '../../ffi/index.ts'
import type { PackedFactors } from './packed-linear.ts'
import { join, productBudget, rowsOf } from './places.ts'

export interface LinearMember {
  /** GGUF name of the weight, for instance `blk.3.attn_q.weight`, and of its bias. */
  readonly name: string
  readonly biasName: string | null
  readonly outFeatures: number
}

export interface LinearGroup {
  readonly inFeatures: number
  readonly outFeatures: number
  /** Rank of one pair, rounded up to a multiple of 16; unused places are zero. */
  readonly paddedRank: number
  readonly members: readonly LinearMember[]
  /** Added to the product, all members' together, [O]; frozen, so it has no part in any gradient. */
  readonly bias: Slot | null
  readonly factors: PlainFactors | PackedFactors
}

/** The group's numbers as f32 tensors for ggml. */
export interface PlainFactors {
  readonly kind: 'plain'
  /** [W | s B], [I + P, O]. */
  readonly weight: Slot
  /** [Wᵀ | Aᵀ], [O + P, I]; null until a gradient is first asked for. */
  readonly transposed: Slot | null
  /** A of all members, [I, P]. */
  readonly a: Slot
  /** (s B)ᵀ of each member, [O of the member, p]. */
  readonly bT: readonly Slot[]
}

export interface LinearForward {
  readonly x: Tensor
  readonly group: LinearGroup
  /** Where y goes, [O, T]. */
  readonly output: Slot
  /** Null = the base model. `h` receives A x [P, T]; `joined` is scratch, [I + P, T]. */
  readonly adapter: { readonly h: Slot; readonly joined: Slot } | null
}

export function linearForward(g: Graph, call: LinearForward): Tensor {
  const { bias } = call.group
  const y = withoutBias(g, call)
  return bias === null ? y : ops.addInPlace(g, y, g.leaf(bias))
}

function withoutBias(g: Graph, { x, group, output, adapter }: LinearForward): Tensor {
  const factors = factorsOf(group)
  const weight = g.leaf(factors.weight)
  if (adapter === null) {
    const base = ops.viewColumns(g, weight, [0, group.inFeatures]) // [I, O]
    return productInto(g, { weight: base, x, output })
  }
  const h = g.into(adapter.h, ops.mulMat(g, g.leaf(factors.a), x)) // [P, T]
  return productInto(g, { weight, x: join(g, [x, h], adapter.joined), output })
}

export interface LinearBackward {
  readonly group: LinearGroup
  /** Inputs of the layer and what forward kept: x [I, T], h [P, T]. */
  readonly x: Tensor
  readonly h: Tensor
  /** Gradients of the members' outputs, [O of the member, T], packed. */
  readonly grads: readonly Tensor[]
  /** Scratch, [O + P, T]. */
  readonly joined: Slot
  /** Where dx goes, [I, T]; null when nobody needs it. */
  readonly output: Slot | null
  /** Where the pairs' gradients go: A [I, P], and per member s⁻¹ Bᵀ [O of the member, p]. */
  readonly gradA: Slot
  readonly gradB: readonly Slot[]
}

/** Returns dx, [I, T]. */
export function linearBackward(g: Graph, call: LinearBackward): Tensor | null {
  const { group, grads } = call
  const factors = factorsOf(group)
  const dh = group.members.map((member, m) => {
    const [grad, bT] = [grads[m], factors.bT[m]]
    if (grad === undefined || bT === undefined) throw new Error(`no gradient for ${member.name}`)
    const h = ops.viewColumns(g, call.h, [m * group.paddedRank, group.paddedRank])
    const slot = call.gradB[m]
    if (slot !== undefined) g.into(slot, ops.outProd(g, grad, h)) // [O of the member, p]
    return ops.mulMat(g, g.leaf(bT), grad) // [p, T]
  })
  const joined = join(g, [...grads, ...dh], call.joined) // [O + P, T]
  const rank = group.paddedRank * group.members.length
  const dhAll = ops.viewColumns(g, joined, [group.outFeatures, rank])
  g.into(call.gradA, ops.outProd(g, call.x, dhAll)) // [I, P]
  if (call.output === null) return null
  if (factors.transposed === null) throw new Error('the transposed weights were not made')
  return productInto(g, { weight: g.leaf(factors.transposed), x: joined, output: call.output })
}

function factorsOf({ factors }: LinearGroup): PlainFactors {
  if (factors.kind !== 'plain') throw new Error('the weights are packed for our kernels')
  return factors
}

/** weight [k, n], x [k, T] → output [n, T], in pieces that keep a graph segment short. */
function productInto(
  g: Graph,
  call: { readonly weight: Tensor; readonly x: Tensor; readonly output: Slot },
): Tensor {
  const { weight, x, output } = call
  const T = x.shape[1]
  const perToken = weight.shape[0] * weight.shape[1]
  const step = Math.max(16, Math.floor(productBudget / perToken / 16) * 16)
  if (step >= T) return g.into(output, ops.mulMat(g, weight, x))
  const whole = g.leaf(output)
  for (let start = 0; start < T; start += step) {
    const count = Math.min(step, T - start)
    const part = ops.mulMat(g, weight, ops.viewRows(g, x, [start, count]))
    g.into(rowsOf(output, start, count), part)
  }
  return whole
}
