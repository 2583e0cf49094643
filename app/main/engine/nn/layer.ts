// One transformer layer of the llama architecture, forward and backward. Forward keeps what backward needs in
// `LayerSlots`; cheap intermediate results (norms, the activation) are computed again.
import { ops, type Graph, type Slot, type Tensor } from '../ffi/index.ts'
import type { ModelInfo } from '../types.ts'
import { attention } from './ops/attention.ts'
import { linearBackward, linearForward, type LinearGroup } from './ops/linear.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { rope, type RopeParams } from './ops/rope.ts'
import { swiglu } from './ops/swiglu.ts'
import type { GroupName, LayerWeights } from './weights.ts'

/** What forward leaves for backward; the last four are used only with an adapter. */
export interface LayerSlots {
  readonly x: Slot // [C, T]
  readonly q: Slot // [D, H, T]
  readonly k: Slot // [D, T, K]
  readonly v: Slot // [D, T, K]
  readonly attended: Slot // [D · H, T]
  readonly middle: Slot // [C, T]
  readonly gateUp: Slot // [2F, T]
  readonly hQkv: Slot // [P, T]
  readonly hOutput: Slot // [P, T]
  readonly hGateUp: Slot // [P, T]
  readonly hDown: Slot // [P, T]
}

/** Memory shared by all layers of a call. */
export interface LayerScratch {
  readonly positions: Slot // i32 [T]
  readonly qkv: Slot // [D · (H + 2K), T]
  readonly projected: Slot // [C, T]
  /** Joined inputs [x ; h] and gradients [dy ; dh] of each group. */
  readonly joined: Readonly<Record<GroupName, Slot>>
}

/** Memory of the backward pass, shared by all layers. */
export interface BackwardScratch {
  readonly dy: Slot // [C, T]
  readonly dq: Slot // [D, H, T]
  readonly dk: Slot // [D, T, K]
  readonly dv: Slot // [D, T, K]
  readonly dWide: Slot // [F, T]
  readonly dAttended: Slot // [D · H, T]
  readonly dNormed: Slot // [C, T]
  readonly joined: LayerScratch['joined']
  /** Gradients of one layer, group by group: A [I, P], and Bᵀ [O, p] of each member. */
  readonly gradA: Readonly<Record<GroupName, Slot>>
  readonly gradB: Readonly<Record<GroupName, readonly Slot[]>>
}

export interface LayerCall {
  readonly info: ModelInfo
  readonly weights: LayerWeights
  readonly slots: LayerSlots
  readonly scratch: LayerScratch
  readonly withAdapter: boolean
}

/** Queries in one attention block: small enough to save half of the scores, large enough for fast products. */
const attentionBlock = 128

export function layerForward(g: Graph, call: LayerCall, output: Slot): void {
  const { slots, scratch, weights } = call
  const x = g.leaf(slots.x)
  const normed = norm(g, x, { weight: weights.attentionNorm, call })
  const qkv = linear(g, call, { group: 'qkv', x: normed, h: slots.hQkv, output: scratch.qkv })
  const { q, k, v } = splitHeads(g, call, qkv)
  const target = { block: attentionBlock, output: g.leaf(slots.attended) }
  const attended = attention.forward(g, { q, k, v }, target)
  const projected = scratch.projected
  const o = linear(g, call, { group: 'output', x: attended, h: slots.hOutput, output: projected })
  const middle = g.into(slots.middle, ops.add(g, x, o)) // [C, T]
  const normed2 = norm(g, middle, { weight: weights.feedForwardNorm, call })
  const wide = { group: 'gateUp', x: normed2, h: slots.hGateUp, output: slots.gateUp } as const
  const activated = swiglu.forward(g, halves(g, linear(g, call, wide)))
  const narrow = { group: 'down', x: activated, h: slots.hDown, output: projected } as const
  const down = linear(g, call, narrow)
  g.into(output, ops.add(g, middle, down)) // [C, T]
}

/** Takes the gradient of the layer's output from `dy`, leaves that of its input there. */
export function layerBackward(
  g: Graph,
  call: LayerCall,
  backward: { readonly scratch: BackwardScratch; readonly needInput: boolean },
): void {
  const { scratch } = backward
  const { slots, weights } = call
  const dy = g.leaf(scratch.dy)
  const middle = g.leaf(slots.middle)
  const dNormed2 = feedForwardBackward(g, call, { scratch, dy })
  const ffn = { x: middle, weight: weights.feedForwardNorm, dy: dNormed2 }
  const dMiddle = ops.add(g, dy, normBackward(g, call, ffn)) // [C, T]
  const dNormed = attentionBackward(g, call, { ...backward, dMiddle })
  if (dNormed === null) return
  const att = { x: g.leaf(slots.x), weight: weights.attentionNorm, dy: dNormed }
  g.into(scratch.dy, ops.add(g, dMiddle, normBackward(g, call, att)))
}

function feedForwardBackward(
  g: Graph,
  call: LayerCall,
  at: { readonly scratch: BackwardScratch; readonly dy: Tensor },
): Tensor {
  const { slots, weights } = call
  const { scratch } = at
  const inputs = halves(g, g.leaf(slots.gateUp))
  const activated = swiglu.forward(g, inputs) // [F, T]
  const grad = linearBackward(g, {
    group: weights.down,
    x: activated,
    h: g.leaf(slots.hDown),
    grads: [at.dy],
    joined: scratch.joined.down,
    output: scratch.dWide,
    gradA: scratch.gradA.down,
    gradB: scratch.gradB.down,
  })
  const parts = swiglu.backward(g, { inputs, grad: present(grad) })
  const normed = norm(g, g.leaf(slots.middle), { weight: weights.feedForwardNorm, call })
  const dNormed = linearBackward(g, {
    group: weights.gateUp,
    x: normed,
    h: g.leaf(slots.hGateUp),
    grads: [parts.gate, parts.up],
    joined: scratch.joined.gateUp,
    output: scratch.dNormed,
    gradA: scratch.gradA.gateUp,
    gradB: scratch.gradB.gateUp,
  })
  return present(dNormed)
}

function attentionBackward(
  g: Graph,
  call: LayerCall,
  at: { readonly scratch: BackwardScratch; readonly needInput: boolean; readonly dMiddle: Tensor },
): Tensor | null {
  const { slots, weights } = call
  const { scratch } = at
  const attended = g.leaf(slots.attended)
  const grad = linearBackward(g, {
    group: weights.output,
    x: attended,
    h: g.leaf(slots.hOutput),
    grads: [at.dMiddle],
    joined: scratch.joined.output,
    output: scratch.dAttended,
    gradA: scratch.gradA.output,
    gradB: scratch.gradB.output,
  })
  const inputs = { q: g.leaf(slots.q), k: g.leaf(slots.k), v: g.leaf(slots.v) }
  const gradients = { q: g.leaf(scratch.dq), k: g.leaf(scratch.dk), v: g.leaf(scratch.dv) }
  const params = { block: attentionBlock, output: attended, gradients }
  attention.backward(g, { inputs, grad: present(grad) }, params)
  return linearBackward(g, {
    group: weights.qkv,
    x: norm(g, g.leaf(slots.x), { weight: weights.attentionNorm, call }),
    h: g.leaf(slots.hQkv),
    grads: joinHeads(g, call, gradients),
    joined: scratch.joined.qkv,
    output: at.needInput ? scratch.dNormed : null,
    gradA: scratch.gradA.qkv,
    gradB: scratch.gradB.qkv,
  })
}

/** [D · (H + 2K), T] → rotated q [D, H, T], rotated k [D, T, K], v [D, T, K], kept in their slots. */
function splitHeads(g: Graph, call: LayerCall, qkv: Tensor): { q: Tensor; k: Tensor; v: Tensor } {
  const { heads: H, keyValueHeads: K, headSize: D } = call.info
  const T = qkv.shape[1]
  const part = (first: number, count: number): Tensor =>
    ops.view(g, qkv, { shape: [D, count, T], strides: [D, D * (H + 2 * K)], offset: first * D })
  const positions = g.leaf(call.scratch.positions)
  const params = ropeParams(call.info)
  const q = g.into(call.slots.q, rope.forward(g, { x: part(0, H), positions }, params))
  const rotated = rope.forward(g, { x: part(H, K), positions }, params) // [D, K, T]
  const k = g.leaf(call.slots.k)
  ops.copyInto(g, ops.permute(g, rotated, [0, 2, 1, 3]), k)
  const v = g.leaf(call.slots.v)
  ops.copyInto(g, ops.permute(g, part(H + K, K), [0, 2, 1, 3]), v)
  return { q, k, v }
}

/** Gradients of q, k, v as the projections' outputs, each packed [D · heads, T]. */
function joinHeads(
  g: Graph,
  call: LayerCall,
  gradients: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor },
): Tensor[] {
  const { heads: H, keyValueHeads: K, headSize: D } = call.info
  const T = gradients.q.shape[2]
  const positions = g.leaf(call.scratch.positions)
  const params = ropeParams(call.info)
  const unrotated = (grad: Tensor): Tensor =>
    rope.backward(g, { inputs: { x: grad, positions }, grad }, params).x
  const byToken = (x: Tensor): Tensor => ops.permute(g, x, [0, 2, 1, 3]) // [D, T, K] → [D, K, T]
  return [
    ops.reshape(g, unrotated(gradients.q), D * H, T),
    ops.reshape(g, unrotated(byToken(gradients.k)), D * K, T),
    ops.reshape(g, ops.contiguous(g, byToken(gradients.v)), D * K, T),
  ]
}

function ropeParams(info: ModelInfo): RopeParams {
  return { dimensions: info.headSize, contextLength: info.contextLength, base: info.ropeBase }
}

function norm(
  g: Graph,
  x: Tensor,
  at: { readonly weight: Slot; readonly call: LayerCall },
): Tensor {
  const epsilon = at.call.info.normEpsilon
  return rmsNorm.forward(g, { x, weight: g.leaf(at.weight) }, { epsilon })
}

function normBackward(
  g: Graph,
  call: LayerCall,
  at: { readonly x: Tensor; readonly weight: Slot; readonly dy: Tensor },
): Tensor {
  const inputs = { x: at.x, weight: g.leaf(at.weight) }
  return rmsNorm.backward(g, { inputs, grad: at.dy }, { epsilon: call.info.normEpsilon }).x
}

/** [2F, T] → the gate and up halves, views [F, T]. */
function halves(g: Graph, gateUp: Tensor): { gate: Tensor; up: Tensor } {
  const F = gateUp.shape[0] / 2
  return { gate: ops.viewColumns(g, gateUp, [0, F]), up: ops.viewColumns(g, gateUp, [F, F]) }
}

function linear(
  g: Graph,
  call: LayerCall,
  at: {
    readonly group: GroupName
    readonly x: Tensor
    readonly h: Slot
    readonly output: Slot
  },
): Tensor {
  const group: LinearGroup = call.weights[at.group]
  const joined = call.scratch.joined[at.group]
  const adapter = call.withAdapter ? { h: at.h, joined } : null
  return linearForward(g, { x: at.x, group, output: at.output, adapter })
}

function present(tensor: Tensor | null): Tensor {
  if (tensor === null) throw new Error('a gradient is missing')
  return tensor
}
