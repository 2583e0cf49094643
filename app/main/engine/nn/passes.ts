// Forward and backward through all layers, one graph per layer, on the memory of a call plan.
import { Graph, ops } from '../ffi/index.ts'
import type { Adapter, AdapterGradients } from '../types.ts'
import type { ModelConfig } from './config.ts'
import { layerBackward, layerForward, type LayerCall } from './layer.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { addPairGradients } from './collect.ts'
import type { CallPlan } from './plan.ts'
import type { ModelWeights, Work } from './weights.ts'

export interface Pass {
  readonly work: Work
  readonly info: ModelConfig
  readonly weights: ModelWeights
  readonly plan: CallPlan
  /** Null = the base model. */
  readonly adapter: Adapter | null
}

/** Fills `plan.hidden` with the normed hidden states at the response positions. */
export async function forwardPass(pass: Pass, tokens: Int32Array): Promise<void> {
  const { work, plan } = pass
  await embedTokens(pass, tokens)
  for (let layer = 0; layer < plan.layers.length; layer += 1) await runLayer(pass, layer)
  using g = new Graph(work.runtime)
  const x = ops.viewRows(g, g.leaf(plan.final), [plan.firstRow, plan.R])
  const weight = g.leaf(pass.weights.outputNorm)
  const inputs = { x, weight }
  g.into(plan.hidden, rmsNorm.forward(g, inputs, { epsilon: pass.info.normEpsilon }))
  await g.run(work.allocator, work.pacer)
}

async function embedTokens(pass: Pass, tokens: Int32Array): Promise<void> {
  const { work, plan, weights } = pass
  using g = new Graph(work.runtime)
  const ids = g.leaf(plan.tokens)
  const padded = new Int32Array(plan.T)
  padded.set(tokens.subarray(0, tokens.length - 1))
  work.runtime.write(ids, padded)
  const positions = g.leaf(plan.scratch.positions)
  work.runtime.write(
    positions,
    Int32Array.from({ length: plan.T }, (_, t) => t),
  )
  const embedded = ops.getRows(g, g.leaf(weights.embedding), ids) // [C, T]
  const { embeddingScale } = pass.info
  const scaled = embeddingScale === 1 ? embedded : ops.scale(g, embedded, embeddingScale)
  g.into(layerAt(plan.layers, 0).x, scaled)
  await g.run(work.allocator, work.pacer)
}

async function runLayer(pass: Pass, layer: number): Promise<void> {
  const { plan, work } = pass
  using g = new Graph(work.runtime)
  layerForward(g, layerCall(pass, layer), plan.layers[layer + 1]?.x ?? plan.final)
  await g.run(work.allocator, work.pacer)
}

function layerCall(pass: Pass, layer: number): LayerCall {
  const { info, weights, plan, adapter } = pass
  return {
    info,
    attention: layerAt(info.attention, layer),
    weights: layerAt(weights.layers, layer),
    frequencyFactors: weights.frequencyFactors,
    slots: layerAt(plan.layers, layer),
    scratch: plan.scratch,
    withAdapter: adapter !== null,
  }
}

function layerAt<T>(layers: readonly T[], layer: number): T {
  const found = layers[layer]
  if (found === undefined) throw new Error(`there is no layer ${layer}`)
  return found
}

/** From d loss / d hidden in `plan.backward.dHidden` to sums of gradients of every pair. */
export async function backwardPass(
  pass: Pass,
  adapter: Adapter,
  gradients: AdapterGradients,
): Promise<void> {
  const { plan } = pass
  if (plan.backward === null) throw new Error('the plan has no room for a backward pass')
  await normBackward(pass, plan.backward)
  for (let layer = plan.layers.length - 1; layer >= 0; layer -= 1) {
    // The layer's own kept values were overwritten by the layers above it.
    if (!plan.keepsLayers && layer < plan.layers.length - 1) await runLayer(pass, layer)
    using g = new Graph(pass.work.runtime)
    const at = { scratch: plan.backward, needInput: layer > 0 }
    layerBackward(g, layerCall(pass, layer), at)
    await g.run(pass.work.allocator, pass.work.pacer)
    const from = { weights: layerAt(pass.weights.layers, layer), ...plan.backward }
    addPairGradients(pass.work.runtime, from, { adapter, gradients })
  }
}

/** d hidden [C, R] → dy [C, T], zero outside the response positions. */
async function normBackward(
  pass: Pass,
  backward: NonNullable<CallPlan['backward']>,
): Promise<void> {
  const { work, plan, weights } = pass
  using g = new Graph(work.runtime)
  const dy = g.leaf(backward.dy)
  work.runtime.write(dy, new Float32Array(pass.info.width * plan.T))
  const x = ops.viewRows(g, g.leaf(plan.final), [plan.firstRow, plan.R])
  const inputs = { x, weight: g.leaf(weights.outputNorm) }
  const call = { inputs, grad: g.leaf(backward.dHidden) }
  const dx = rmsNorm.backward(g, call, { epsilon: pass.info.normEpsilon }).x
  ops.copyInto(g, dx, ops.viewRows(g, dy, [plan.firstRow, plan.R]))
  await g.run(work.allocator, work.pacer)
}
