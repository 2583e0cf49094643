// The group of linear.ts on our own kernels: weights and the adapter's pairs are packed matrices, the adapter's
// part is added inside the product:  h = A x,  y = W x + (s B) h;  dh = (s B)ᵀ dy,  dx = Wᵀ dy + Aᵀ dh.
// Forward products are exact to 1e-5, so that losses and divergences can be compared with f32; where the kernels
// round, backward ones are rounded to bf16. (s B) of all members is block-diagonal, like their A below one another.
import {
  ops,
  type Graph,
  type Kernels,
  type Panels,
  type Slot,
  type Tensor,
} from '../../ffi/index.ts'
import type { LinearBackward, LinearForward } from './linear.ts'
import { join, productBudget, rowsOf, sliceOf } from './places.ts'

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

export function packedForward(g: Graph, call: LinearForward, factors: PackedFactors): Tensor {
  const { x, output, adapter } = call
  const { kernels, weight, a, b } = factors
  if (adapter === null) return productInto(g, kernels, { factors: [{ panels: weight, x }], output })
  const h = g.into(adapter.h, ops.packedProduct(g, kernels, [{ panels: a, x }])) // [P, T]
  const both = [
    { panels: weight, x },
    { panels: b, x: h },
  ] as const
  return productInto(g, kernels, { factors: both, output })
}

export function packedBackward(
  g: Graph,
  call: LinearBackward,
  factors: PackedFactors,
): Tensor | null {
  const { group, grads } = call
  const { kernels, transposed } = factors
  const [only] = grads
  const T = call.x.shape[1]
  const dy =
    grads.length === 1 && only !== undefined
      ? only
      : join(g, grads, sliceOf(call.joined, [group.outFeatures, T])) // [O, T]
  const dh = ops.packedProduct(g, kernels, [{ panels: factors.bT, x: dy }]) // [P, T]
  group.members.forEach((member, m) => {
    const [grad, slot] = [grads[m], call.gradB[m]]
    if (grad === undefined || slot === undefined) throw new Error(`no gradient for ${member.name}`)
    const h = ops.viewColumns(g, call.h, [m * group.paddedRank, group.paddedRank])
    g.into(slot, ops.packedOuter(g, kernels, [grad, h])) // [O of the member, p]
  })
  g.into(call.gradA, ops.packedOuter(g, kernels, [call.x, dh])) // [I, P]
  if (call.output === null) return null
  if (transposed === null) throw new Error('the transposed weights were not made')
  const both = [
    { panels: transposed, x: dy },
    { panels: factors.aT, x: dh },
  ] as const
  return productInto(g, kernels, { factors: both, output: call.output })
}

/** In pieces of tokens that keep a graph segment short. */
function productInto(
  g: Graph,
  kernels: Kernels,
  call: { readonly factors: Parameters<typeof ops.packedProduct>[2]; readonly output: Slot },
): Tensor {
  const [main, extra] = call.factors
  const T = main.x.shape[1]
  const times = main.panels.low === null ? 1 : 3
  const perToken = (times * main.panels.rows * main.panels.columns) / kernels.speedup
  const step = Math.max(16, Math.floor(productBudget / perToken / 16) * 16)
  if (step >= T) return g.into(call.output, ops.packedProduct(g, kernels, call.factors))
  const whole = g.leaf(call.output)
  for (let start = 0; start < T; start += step) {
    const count = Math.min(step, T - start)
    const part = (factor: typeof main): typeof main => ({
      panels: factor.panels,
      x: ops.viewRows(g, factor.x, [start, count]),
    })
    const factors =
      extra === undefined ? ([part(main)] as const) : ([part(main), part(extra)] as const)
    g.into(rowsOf(call.output, start, count), ops.packedProduct(g, kernels, factors))
  }
  return whole
}
