// One transformer layer of any known architecture, forward and backward: which norms, biases, activation, window
// and rotary style it has stands in its config. Forward keeps what backward needs in `LayerSlots`; cheap
// intermediate results (norms, the activation) are computed again.
import { ops, type Graph, type Slot, type Tensor } from '../ffi/index.ts'
import type { LayerAttention, ModelConfig } from './config.ts'
import { attention } from './ops/attention.ts'
import { gatedUnit } from './ops/gated-unit.ts'
import { linearBackward, linearForward, type LinearGroup } from './ops/linear.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { rope, type RopeParams } from './ops/rope.ts'
import type { GroupName, LayerWeights } from './weights.ts'

/**
 * What forward leaves for backward; null where the architecture has no such norm. The last four are used only with
 * an adapter.
 */
export interface LayerSlots {
  readonly x: Slot // [C, T]
  readonly q: Slot // [D, H, T]
  readonly k: Slot // [D, T, K]
  readonly v: Slot // [D, T, K]
  readonly attended: Slot // [D · H, T]
  readonly middle: Slot // [C, T]
  readonly gateUp: Slot // [2F, T]
  /** q and k before their norms. */
  readonly queryInput: Slot | null // [D, H, T]
  readonly keyInput: Slot | null // [D, K, T]
  /** Outputs of the two branches before their norms. */
  readonly attentionOutput: Slot | null // [C, T]
  readonly feedForwardOutput: Slot | null // [C, T]
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
  readonly info: ModelConfig
  readonly attention: LayerAttention
  readonly weights: LayerWeights
  /** Divisors of the rotary frequencies, [D / 2]. */
  readonly frequencyFactors: Slot | null
  readonly slots: LayerSlots
  readonly scratch: LayerScratch
  readonly withAdapter: boolean
}

/** Queries in one attention block: small enough to save half of the scores, large enough for fast products. */
const attentionBlock = 128

export function layerForward(g: Graph, call: LayerCall, output: Slot): void {
  const { slots, scratch, weights, info } = call
  const x = g.leaf(slots.x)
  const normed = norm(g, x, { weight: weights.attentionNorm, call })
  const qkv = linear(g, call, { group: 'qkv', x: normed, h: slots.hQkv, output: scratch.qkv })
  const inputs = splitHeads(g, call, qkv)
  const target = { ...attentionParams(call), output: g.leaf(slots.attended) }
  const attended = attention.forward(g, inputs, target)
  const projected = slots.attentionOutput ?? scratch.projected
  const o = linear(g, call, { group: 'output', x: attended, h: slots.hOutput, output: projected })
  const attentionPart = postNorm(g, o, { weight: weights.attentionPostNorm, call })
  const middle = g.into(slots.middle, ops.add(g, x, attentionPart)) // [C, T]
  const normed2 = norm(g, middle, { weight: weights.feedForwardNorm, call })
  const wide = { group: 'gateUp', x: normed2, h: slots.hGateUp, output: slots.gateUp } as const
  const { activation } = info.design
  const activated = gatedUnit.forward(g, halves(g, linear(g, call, wide)), { activation })
  const place = slots.feedForwardOutput ?? scratch.projected
  const narrow = { group: 'down', x: activated, h: slots.hDown, output: place } as const
  const down = linear(g, call, narrow)
  const feedForwardPart = postNorm(g, down, { weight: weights.feedForwardPostNorm, call })
  g.into(output, ops.add(g, middle, feedForwardPart)) // [C, T]
}

function attentionParams({ info, attention: { window } }: LayerCall) {
  return { block: attentionBlock, scale: info.attentionScale, window }
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
  const feedForward = { weight: weights.feedForwardPostNorm, x: slots.feedForwardOutput, dy }
  const dFeedForward = optionalNormBackward(g, call, feedForward)
  const dNormed2 = feedForwardBackward(g, call, { scratch, dy: dFeedForward })
  const ffn = { x: middle, weight: weights.feedForwardNorm, dy: dNormed2 }
  const dMiddle = ops.add(g, dy, normBackward(g, call, ffn)) // [C, T]
  const attended = { weight: weights.attentionPostNorm, x: slots.attentionOutput, dy: dMiddle }
  const dOutput = optionalNormBackward(g, call, attended)
  const dNormed = attentionBackward(g, call, { ...backward, dOutput })
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
  const { activation } = call.info.design
  const activated = gatedUnit.forward(g, inputs, { activation }) // [F, T]
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
  const parts = gatedUnit.backward(g, { inputs, grad: present(grad) }, { activation })
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
  at: { readonly scratch: BackwardScratch; readonly needInput: boolean; readonly dOutput: Tensor },
): Tensor | null {
  const { slots, weights } = call
  const { scratch } = at
  const attended = g.leaf(slots.attended)
  const grad = linearBackward(g, {
    group: weights.output,
    x: attended,
    h: g.leaf(slots.hOutput),
    grads: [at.dOutput],
    joined: scratch.joined.output,
    output: scratch.dAttended,
    gradA: scratch.gradA.output,
    gradB: scratch.gradB.output,
  })
  const inputs = { q: g.leaf(slots.q), k: g.leaf(slots.k), v: g.leaf(slots.v) }
  const gradients = { q: g.leaf(scratch.dq), k: g.leaf(scratch.dk), v: g.leaf(scratch.dv) }
  const params = { ...attentionParams(call), output: attended, gradients }
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

/**
 * [D · (H + 2K), T] → normed and rotated q [D, H, T] and k [D, T, K], v [D, T, K], kept in their slots; before the
 * norms q and k are kept too.
 */
function splitHeads(g: Graph, call: LayerCall, qkv: Tensor): { q: Tensor; k: Tensor; v: Tensor } {
  const { heads: H, keyValueHeads: K, headSize: D } = call.info
  const { slots, weights } = call
  const T = qkv.shape[1]
  const part = (first: number, count: number): Tensor =>
    ops.view(g, qkv, { shape: [D, count, T], strides: [D, D * (H + 2 * K)], offset: first * D })
  const positions = g.leaf(call.scratch.positions)
  const params = ropeParams(g, call)
  const query = { weight: weights.queryNorm, input: slots.queryInput }
  const q = g.into(
    slots.q,
    rope.forward(g, { x: headNorm(g, call, { ...query, x: part(0, H) }), positions }, params),
  )
  const key = { weight: weights.keyNorm, input: slots.keyInput }
  const normedKey = headNorm(g, call, { ...key, x: part(H, K) })
  const rotated = rope.forward(g, { x: normedKey, positions }, params) // [D, K, T]
  const k = g.leaf(slots.k)
  ops.copyInto(g, ops.permute(g, rotated, [0, 2, 1, 3]), k)
  const v = g.leaf(slots.v)
  ops.copyInto(g, ops.permute(g, part(H + K, K), [0, 2, 1, 3]), v)
  return { q, k, v }
}

/** Norms x [D, heads, T] head by head and keeps it in `input`; without a weight, x itself. */
function headNorm(
  g: Graph,
  call: LayerCall,
  at: { readonly x: Tensor; readonly weight: Slot | null; readonly input: Slot | null },
): Tensor {
  if (at.weight === null) return at.x
  const kept = g.leaf(present(at.input))
  ops.copyInto(g, at.x, kept)
  return norm(g, kept, { weight: at.weight, call })
}

/** Gradients of q, k, v as the projections' outputs, each packed [D · heads, T]. */
function joinHeads(
  g: Graph,
  call: LayerCall,
  gradients: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor },
): Tensor[] {
  const { heads: H, keyValueHeads: K, headSize: D } = call.info
  const { slots, weights } = call
  const T = gradients.q.shape[2]
  const positions = g.leaf(call.scratch.positions)
  const params = ropeParams(g, call)
  const unrotated = (grad: Tensor): Tensor =>
    rope.backward(g, { inputs: { x: grad, positions }, grad }, params).x
  const byToken = (x: Tensor): Tensor => ops.permute(g, x, [0, 2, 1, 3]) // [D, T, K] → [D, K, T]
  const query = { weight: weights.queryNorm, x: slots.queryInput, dy: unrotated(gradients.q) }
  const key = { weight: weights.keyNorm, x: slots.keyInput, dy: unrotated(byToken(gradients.k)) }
  return [
    ops.reshape(g, optionalNormBackward(g, call, query), D * H, T),
    ops.reshape(g, optionalNormBackward(g, call, key), D * K, T),
    ops.reshape(g, ops.contiguous(g, byToken(gradients.v)), D * K, T),
  ]
}

function ropeParams(g: Graph, call: LayerCall): RopeParams {
  const { info, attention: layer, frequencyFactors } = call
  return {
    dimensions: info.headSize,
    contextLength: info.contextLength,
    base: layer.ropeBase,
    scale: layer.ropeScale,
    style: info.design.rope,
    factors: frequencyFactors === null ? null : g.leaf(frequencyFactors),
  }
}

function norm(
  g: Graph,
  x: Tensor,
  at: { readonly weight: Slot; readonly call: LayerCall },
): Tensor {
  const epsilon = at.call.info.normEpsilon
  return rmsNorm.forward(g, { x, weight: g.leaf(at.weight) }, { epsilon })
}

/** The norm of a branch's output; x itself where the architecture has none. */
function postNorm(
  g: Graph,
  x: Tensor,
  at: { readonly weight: Slot | null; readonly call: LayerCall },
): Tensor {
  return at.weight === null ? x : norm(g, x, { weight: at.weight, call: at.call })
}

/** Gradient of the input of a norm that the architecture may lack; without it dy itself. */
function optionalNormBackward(
  g: Graph,
  call: LayerCall,
  at: { readonly x: Slot | null; readonly weight: Slot | null; readonly dy: Tensor },
): Tensor {
  if (at.weight === null) return at.dy
  return normBackward(g, call, { x: g.leaf(present(at.x)), weight: at.weight, dy: at.dy })
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

function present<T>(value: T | null): T {
  if (value === null) throw new Error('a gradient or a kept value is missing')
  return value
}
