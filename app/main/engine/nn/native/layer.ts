// One transformer layer on our kernels, forward and backward: the same arithmetic as ../layer.ts, fused.
import { ops, type Graph, type KernelCall, type Slot, type Tensor } from '../../ffi/index.ts'
import type { ModelInfo } from '../../types.ts'
import { packedBackward, packedForward } from '../ops/packed-linear.ts'
import { productBudget, sliceOf } from '../ops/places.ts'
import type { GroupName, LayerWeights } from '../weights.ts'
import type { BackwardSlots, LayerSlots, SharedSlots } from './plan.ts'

export interface NativeLayerCall extends KernelCall {
  readonly info: ModelInfo
  readonly weights: LayerWeights
  readonly slots: LayerSlots
  readonly shared: SharedSlots
  readonly withAdapter: boolean
}

export function nativeForward(g: Graph, call: NativeLayerCall, output: Slot): void {
  const { slots, shared, weights, info } = call
  const x = g.leaf(slots.x)
  const normed = norm(g, call, { x, weight: weights.attentionNorm })
  const T = x.shape[1]
  linear(g, call, { group: 'qkv', x: normed, output: sliceOf(slots.qkv, [rowLength(info), T]) })
  const raw = g.leaf(slots.qkv)
  const rotated = g.into(slots.qkv, ops.rotateHeads(g, call, { ...rotation(g, call), x: raw }))
  const attended = attend(g, call, rotated)
  const middle = linear(g, call, {
    group: 'output',
    x: attended,
    output: slots.middle,
    residual: x,
  })
  const normed2 = norm(g, call, { x: middle, weight: weights.feedForwardNorm })
  const wide = linear(g, call, { group: 'gateUp', x: normed2, output: slots.gateUp })
  const activated = g.into(shared.activated, ops.gated(g, call, { x: wide, activation: 'silu' }))
  linear(g, call, { group: 'down', x: activated, output, residual: middle })
}

/** Takes the gradient of the layer's output from `dy`, leaves that of its input there. */
export function nativeBackward(
  g: Graph,
  call: NativeLayerCall,
  at: { readonly backward: BackwardSlots; readonly needInput: boolean },
): void {
  const { slots, shared, weights } = call
  const { backward } = at
  const dy = g.leaf(backward.dy)
  const wide = g.leaf(slots.gateUp)
  const activated = g.into(shared.activated, ops.gated(g, call, { x: wide, activation: 'silu' }))
  const dActivated = unlinear(g, call, {
    ...{ group: 'down', x: activated, grad: dy, output: backward.dActivated, backward },
  })
  const gateUp = { x: wide, dy: present(dActivated), activation: 'silu' } as const
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
  const { backward, dMiddle } = at
  const attended = g.leaf(slots.attended)
  const dAttended = unlinear(g, call, {
    ...{ group: 'output', x: attended, grad: dMiddle, output: backward.dAttended, backward },
  })
  const T = attended.shape[1]
  const grad = present(dAttended)
  const parts = g.leaf(backward.dParts)
  for (const part of headParts(info, { T, heads: info.heads, each: 2.5 })) {
    const qkv = g.leaf(slots.qkv)
    g.into(
      backward.dParts,
      ops.kernelAttentionBack(g, call, { ...heads(g, call), qkv, part, attended, grad }),
    )
  }
  const turned = { ...rotation(g, call), grad: parts, input: null }
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
  info: ModelInfo,
  at: { readonly T: number; readonly heads: number; readonly each: number },
): Generator<readonly [number, number]> {
  const perHead = at.each * info.headSize * at.T ** 2 * (info.heads / at.heads)
  const step = Math.max(1, Math.floor(productBudget / perHead))
  for (let first = 0; first < at.heads; first += step) {
    yield [first, Math.min(step, at.heads - first)]
  }
}

function heads(g: Graph, { info, slots, shared }: NativeLayerCall) {
  return {
    places: g.leaf(shared.places),
    sums: g.leaf(slots.sums),
    heads: info.heads,
    keyValueHeads: info.keyValueHeads,
    scale: 1 / Math.sqrt(info.headSize),
  }
}

function rotation(g: Graph, { info, shared }: NativeLayerCall) {
  return {
    heads: info.heads,
    keyValueHeads: info.keyValueHeads,
    style: 'pairs',
    table: g.leaf(shared.table),
  } as const
}

function rowLength({ headSize, heads, keyValueHeads }: ModelInfo): number {
  return headSize * (heads + 2 * keyValueHeads)
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
    readonly residual: Tensor
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
