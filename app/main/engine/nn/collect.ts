// Reads one layer's gradients from native memory and adds them to the caller's sums.
import { Graph, type Runtime, type Slot } from '../ffi/index.ts'
import type { Adapter, AdapterGradients } from '../types.ts'
import { groupNames, type GroupName, type LayerWeights } from './weights.ts'

export interface LayerGradients {
  readonly weights: LayerWeights
  /** A of all members, [I, P]. */
  readonly gradA: Readonly<Record<GroupName, Slot>>
  /** s⁻¹ Bᵀ of each member, [O of the member, p]. */
  readonly gradB: Readonly<Record<GroupName, readonly Slot[]>>
}

export function addPairGradients(
  runtime: Runtime,
  from: LayerGradients,
  to: { readonly adapter: Adapter; readonly gradients: AdapterGradients },
): void {
  using g = new Graph(runtime)
  for (const name of groupNames) {
    const group = from.weights[name]
    const gradA = readSlot(g, from.gradA[name])
    group.members.forEach((member, m) => {
      const index = to.adapter.tensors.findIndex((tensor) => tensor.name === member.name)
      const target = to.gradients.tensors[index]
      const slot = from.gradB[name][m]
      if (target === undefined || slot === undefined) return
      const start = m * group.paddedRank * group.inFeatures
      addInto(target.a, gradA.subarray(start, start + target.a.length))
      const gradB = readSlot(g, slot)
      addTransposed(target.b, gradB, { adapter: to.adapter, outFeatures: member.outFeatures })
    })
  }
}

function readSlot(g: Graph, slot: Slot): Float32Array {
  return g.runtime.read(g.leaf(slot), new Float32Array(slot.shape[0] * slot.shape[1]))
}

function addInto(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i += 1)
    target[i] = (target[i] as number) + (source[i] as number)
}

/** Adds s · dBᵀ [p, O] into B [O, r], where s = alpha / rank. */
function addTransposed(
  target: Float32Array,
  source: Float32Array,
  { adapter, outFeatures }: { readonly adapter: Adapter; readonly outFeatures: number },
): void {
  const { rank } = adapter
  const factor = adapter.alpha / rank
  for (let r = 0; r < rank; r += 1) {
    for (let out = 0; out < outFeatures; out += 1) {
      const at = out * rank + r
      target[at] = (target[at] as number) + factor * (source[r * outFeatures + out] as number)
    }
  }
}
