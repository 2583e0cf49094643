// A group of linear layers with one input (q·k·v, gate·up, or one layer), each with a LoRA pair, on our own kernels:
// weights and pairs are packed matrices, the pairs' part is added inside the product:
//   h = A x,  y = W x + (s B) h;   dh = (s B)ᵀ dy,  dx = Wᵀ dy + Aᵀ dh.
// (s B) of all members is block-diagonal, like their A below one another. Letters as in linear.ts.
import {
  ops,
  type Graph,
  type KernelCall,
  type Kernels,
  type Panels,
  type Slot,
  type Tensor,
} from '../../ffi/index.ts'
import type { GroupName, ModelWeights } from '../weights.ts'
import type { LinearGroup } from './linear.ts'
import { productBudget, rowsOf, sliceOf } from './places.ts'

export interface PackedFactors {
  readonly kind: 'packed'
  readonly kernels: Kernels
  /** W [O, I]. */
  readonly weight: Panels
  /** Wᵀ [I, O]; null until a gradient is first asked for. */
  readonly transposed: Panels | null
  /** A of all members [P, I], and its transposed [I, P]. */
  readonly a: Panels
  readonly aT: Panels
  /** s B of all members [O, P], and its transposed [P, O]. */
  readonly b: Panels
  readonly bT: Panels
}

/** Columns of all pairs of a group. */
export function rankOf(weights: ModelWeights, name: GroupName): number {
  return (weights.layers[0]?.[name].members.length ?? 0) * weights.paddedRank
}

export interface PackedForward {
  readonly group: LinearGroup
  /** [I, T]. */
  readonly x: Tensor
  /** Where y goes, [O, T]. */
  readonly output: Slot
  /** Where A x goes, [P, T]; null = the base model. */
  readonly h: Slot | null
  /** Added to y, [O, T]. */
  readonly residual?: Tensor | null
}

export function packedForward(g: Graph, call: KernelCall, at: PackedForward): Tensor {
  const { x, output, residual = null } = at
  const { weight, a, b } = factorsOf(at.group)
  const main = { panels: weight, x }
  const bias = at.group.bias
  if (at.h === null) return productInto(g, call, { main, second: null, residual, bias, output })
  const h = g.into(at.h, ops.packedProduct(g, call, { main: { panels: a, x } })) // [P, T]
  return productInto(g, call, { main, second: { panels: b, x: h }, residual, bias, output })
}

export interface PackedBackward {
  readonly group: LinearGroup
  /** What forward took and made: x [I, T], h [P, T]. */
  readonly x: Tensor
  readonly h: Tensor
  /** Gradient of all members' outputs, [O, T]. */
  readonly grad: Tensor
  /** Scratch, at least [P, T]. */
  readonly dh: Slot
  /** Where dx goes, [I, T]; null when nobody needs it. */
  readonly output: Slot | null
  /** Where the pairs' gradients go: A [I, P], and per member s⁻¹ Bᵀ [O of the member, p]. */
  readonly gradA: Slot
  readonly gradB: readonly Slot[]
}

/** Returns dx, [I, T]. */
export function packedBackward(g: Graph, call: KernelCall, at: PackedBackward): Tensor | null {
  const { group, grad, x } = at
  const { transposed, aT, bT } = factorsOf(group)
  const rank = group.paddedRank * group.members.length
  const place = sliceOf(at.dh, [rank, x.shape[1]])
  const dh = g.into(place, ops.packedProduct(g, call, { main: { panels: bT, x: grad } })) // [P, T]
  let first = 0
  group.members.forEach((member, m) => {
    const slot = at.gradB[m]
    if (slot === undefined) throw new Error(`no gradient for ${member.name}`)
    const part = ops.viewColumns(g, grad, [first, member.outFeatures])
    const h = ops.viewColumns(g, at.h, [m * group.paddedRank, group.paddedRank])
    g.into(slot, ops.packedOuter(g, call, [part, h])) // [O of the member, p]
    first += member.outFeatures
  })
  g.into(at.gradA, ops.packedOuter(g, call, [x, dh])) // [I, P]
  if (at.output === null) return null
  if (transposed === null) throw new Error('the transposed weights were not made')
  const [main, second] = [
    { panels: transposed, x: grad },
    { panels: aT, x: dh },
  ]
  return productInto(g, call, { main, second, residual: null, bias: null, output: at.output })
}

function factorsOf({ factors }: LinearGroup): PackedFactors {
  if (factors.kind !== 'packed') throw new Error('the weights are not packed')
  return factors
}

interface Product {
  readonly main: { readonly panels: Panels; readonly x: Tensor }
  readonly second: Product['main'] | null
  readonly residual: Tensor | null
  readonly bias: Slot | null
  readonly output: Slot
}

/** In pieces of tokens that keep a graph segment short. */
function productInto(g: Graph, call: KernelCall, at: Product): Tensor {
  const { main, second, residual } = at
  const T = main.x.shape[1]
  const perToken = (main.panels.rows * main.panels.columns) / call.kernels.speedup
  const step = Math.max(96, Math.floor(productBudget / perToken / 96) * 96)
  const bias = at.bias === null ? null : g.leaf(at.bias)
  if (step >= T) return g.into(at.output, ops.packedProduct(g, call, { ...at, bias }))
  const whole = g.leaf(at.output)
  for (let start = 0; start < T; start += step) {
    const count = Math.min(step, T - start)
    const rows = (x: Tensor): Tensor => ops.viewRows(g, x, [start, count])
    const part = ops.packedProduct(g, call, {
      main: { panels: main.panels, x: rows(main.x) },
      second: second === null ? null : { panels: second.panels, x: rows(second.x) },
      residual: residual === null ? null : rows(residual),
      bias,
    })
    g.into(rowsOf(at.output, start, count), part)
  }
  return whole
}
