// One transformer layer on our kernels, forward and backward: the same arithmetic as ../layer.ts, fused.
import { ops, type Graph, type KernelCall, type Slot, type Tensor } from '../../ffi/index.ts'
import type { ModelConfig } from '../config.ts'
import { packedBackward, packedForward } from '../ops/packed-linear.ts'
import { productBudget, sliceOf } from '../ops/places.ts'
import type { GroupName, LayerWeights } from '../weights.ts'
import type { BackwardSlots, LayerSlots, SharedSlots, View } from './plan.ts'

export interface NativeLayerCall extends KernelCall {
  readonly info: ModelConfig
  readonly weights: LayerWeights
  readonly slots: LayerSlots
  readonly shared: SharedSlots
  readonly view: View
  readonly withAdapter: boolean
}

export function nativeForward(g: Graph, call: NativeLayerCall, output: Slot): void {
  const { slots, shared, weights, info } = call
  const { activation } = info.design
  const x = g.leaf(slots.x)
  const normed = norm(g, call, { x, weight: weights.attentionNorm })
  const raw = slots.rawQkv ?? slots.qkv
  linear(g, call, { group: 'qkv', x: normed, output: sliceOf(raw, [rowLength(info), x.shape[1]]) })
  const rotated = ops.rotateHeads(g, call, { ...rotation(g, call), x: g.leaf(raw) })
  const attended = attend(g, call, g.into(slots.qkv, rotated))
  const middle = branch(g, call, {
    ...{ group: 'output', x: attended, residual: x, output: slots.middle },
    ...{ before: slots.attentionOutput, norm: weights.attentionPostNorm },
  })
  const normed2 = norm(g, call, { x: middle, weight: weights.feedForwardNorm })
  const wide = linear(g, call, { group: 'gateUp', x: normed2, output: slots.gateUp })
  const activated = g.into(shared.activated, ops.gated(g, call, { x: wide, activation }))
  branch(g, call, {
    ...{ group: 'down', x: activated, residual: middle, output },
    ...{ before: slots.feedForwardOutput, norm: weights.feedForwardPostNorm },
  })
}

/** The projection that ends a branch, normed where the architecture does that, added to the residual. */
function branch(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly group: 'output' | 'down'
    readonly x: Tensor
    readonly residual: Tensor
    readonly output: Slot
    readonly before: Slot | null
    readonly norm: Slot | null
  },
): Tensor {
  const { group, x, residual, output, before } = at
  if (before === null || at.norm === null) return linear(g, call, { group, x, residual, output })
  const plain = linear(g, call, { group, x, output: before })
  const [weight, epsilon] = [g.leaf(at.norm), call.info.normEpsilon]
  return g.into(output, ops.kernelNorm(g, call, { x: plain, weight, epsilon, residual }))
}

/** Takes the gradient of the layer's output from `dy`, leaves that of its input there. */
export function nativeBackward(
  g: Graph,
  call: NativeLayerCall,
  at: { readonly backward: BackwardSlots; readonly needInput: boolean },
): void {
  const { slots, shared, weights } = call
  const { backward } = at
  const { activation } = call.info.design
  const dy = g.leaf(backward.dy)
  const dDown = branchBack(g, call, {
    ...{ dy, before: slots.feedForwardOutput, norm: weights.feedForwardPostNorm },
    place: backward.dBranch,
  })
  const wide = g.leaf(slots.gateUp)
  const activated = g.into(shared.activated, ops.gated(g, call, { x: wide, activation }))
  const dActivated = unlinear(g, call, {
    ...{ group: 'down', x: activated, grad: dDown, output: backward.dActivated, backward },
  })
  const gateUp = { x: wide, dy: present(dActivated), activation }
  const dGateUp = g.into(backward.dGateUp, ops.gatedBack(g, call, gateUp))
  const middle = g.leaf(slots.middle)
  const normed2 = norm(g, call, { x: middle, weight: weights.feedForwardNorm })
  const dNormed2 = unlinear(g, call, {
    ...{ group: 'gateUp', x: normed2, grad: dGateUp, output: backward.dNormed, backward },
  })
  const ffn = { x: middle, weight: weights.feedForwardNorm, dy: present(dNormed2), residual: dy }
  const dMiddle = g.into(backward.dy, unnorm(g, call, ffn))
  const dNormed = attentionBackward(g, call, { ...at, dMiddle })
  if (dNormed === null) return
  const x = g.leaf(slots.x)
  const att = { x, weight: weights.attentionNorm, dy: dNormed, residual: dMiddle }
  g.into(backward.dy, unnorm(g, call, att))
}

/** The gradient before a branch's norm. */
function branchBack(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly dy: Tensor
    readonly before: Slot | null
    readonly norm: Slot | null
    readonly place: Slot | null
  },
): Tensor {
  const { dy, before, place } = at
  if (before === null || at.norm === null || place === null) return dy
  const back = { x: g.leaf(before), weight: at.norm, dy, residual: null }
  return g.into(place, unnorm(g, call, back))
}

function attentionBackward(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly backward: BackwardSlots
    readonly needInput: boolean
    readonly dMiddle: Tensor
  },
): Tensor | null {
  const { slots, weights, info } = call
  const { backward } = at
  const dOutput = branchBack(g, call, {
    ...{ dy: at.dMiddle, before: slots.attentionOutput, norm: weights.attentionPostNorm },
    place: backward.dBranch,
  })
  const attended = g.leaf(slots.attended)
  const dAttended = unlinear(g, call, {
    ...{ group: 'output', x: attended, grad: dOutput, output: backward.dAttended, backward },
  })
  const T = attended.shape[1]
  const grad = present(dAttended)
  for (const part of headParts(info, { T, heads: info.heads, each: 2.5 })) {
    const inputs = { ...heads(g, call), qkv: g.leaf(slots.qkv), part, attended, grad }
    g.into(backward.dParts, ops.kernelAttentionBack(g, call, inputs))
  }
  const input = slots.rawQkv === null ? null : g.leaf(slots.rawQkv)
  const turned = { ...rotation(g, call), grad: g.leaf(backward.dParts), input }
  g.into(backward.dQkv, ops.rotateHeadsBack(g, call, turned))
  const dQkv = g.leaf(sliceOf(backward.dQkv, [rowLength(info), T]))
  const normed = norm(g, call, { x: g.leaf(slots.x), weight: weights.attentionNorm })
  const output = at.needInput ? backward.dNormed : null
  return unlinear(g, call, { group: 'qkv', x: normed, grad: dQkv, output, backward })
}

function attend(g: Graph, call: NativeLayerCall, qkv: Tensor): Tensor {
  const { info, slots } = call
  const T = qkv.shape[2]
  for (const part of headParts(info, { T, heads: info.keyValueHeads, each: 1 })) {
    g.into(slots.attended, ops.kernelAttention(g, call, { ...heads(g, call), qkv, part }))
  }
  return g.leaf(slots.attended)
}

/** Ranges of heads whose work fits a graph segment. */
function* headParts(
  info: ModelConfig,
  at: { readonly T: number; readonly heads: number; readonly each: number },
): Generator<readonly [number, number]> {
  const perHead = at.each * info.headSize * at.T ** 2 * (info.heads / at.heads)
  const step = Math.max(1, Math.floor(productBudget / perHead))
  for (let first = 0; first < at.heads; first += step) {
    yield [first, Math.min(step, at.heads - first)]
  }
}

function heads(g: Graph, { info, slots, view }: NativeLayerCall) {
  return {
    places: g.leaf(view.places),
    sums: g.leaf(slots.sums),
    heads: info.heads,
    keyValueHeads: info.keyValueHeads,
    scale: info.attentionScale,
  }
}

function rotation(g: Graph, { info, view, weights }: NativeLayerCall) {
  const { queryNorm, keyNorm } = weights
  const headNorms =
    queryNorm === null || keyNorm === null
      ? null
      : { q: g.leaf(queryNorm), k: g.leaf(keyNorm), epsilon: info.normEpsilon }
  return {
    heads: info.heads,
    keyValueHeads: info.keyValueHeads,
    style: info.design.rope,
    table: g.leaf(view.table),
    headNorms,
  }
}

function rowLength({ headSize, heads: H, keyValueHeads }: ModelConfig): number {
  return headSize * (H + 2 * keyValueHeads)
}

function norm(
  g: Graph,
  call: NativeLayerCall,
  at: { readonly x: Tensor; readonly weight: Slot },
): Tensor {
  const [weight, epsilon] = [g.leaf(at.weight), call.info.normEpsilon]
  return g.into(call.shared.normed, ops.kernelNorm(g, call, { x: at.x, weight, epsilon }))
}

function unnorm(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly x: Tensor
    readonly weight: Slot
    readonly dy: Tensor
    readonly residual: Tensor | null
  },
): Tensor {
  const [weight, epsilon] = [g.leaf(at.weight), call.info.normEpsilon]
  return ops.kernelNormBack(g, call, { ...at, weight, epsilon })
}

function linear(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly group: GroupName
    readonly x: Tensor
    readonly output: Slot
    readonly residual?: Tensor
  },
): Tensor {
  const h = call.withAdapter ? call.slots.h[at.group] : null
  return packedForward(g, call, { ...at, group: call.weights[at.group], h })
}

function unlinear(
  g: Graph,
  call: NativeLayerCall,
  at: {
    readonly group: GroupName
    readonly x: Tensor
    readonly grad: Tensor
    readonly output: Slot | null
    readonly backward: BackwardSlots
  },
): Tensor | null {
  const { backward, group } = at
  return packedBackward(g, call, {
    group: call.weights[group],
    x: at.x,
    h: g.leaf(call.slots.h[group]),
    grad: at.grad,
    dh: backward.dh,
    output: at.output,
    gradA: backward.gradA[group],
    gradB: backward.gradB[group],
  })
}

function present(tensor: Tensor | null): Tensor {
  if (tensor === null) throw new Error('a gradient is missing')
  return tensor
}
