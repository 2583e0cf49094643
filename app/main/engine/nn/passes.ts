// Forward and backward through all layers, one graph per layer, on the memory of a call plan.
import { Graph, ops } from '../ffi/index.ts'
import type { Adapter, AdapterGradients } from '../types.ts'
import type { ModelConfig } from './config.ts'
import { layerBackward, layerForward, type BackwardScratch, type LayerCall } from './layer.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { groupNames, type CallPlan } from './plan.ts'
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
    kernels: weights.packedHead?.kernels ?? null,
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
  const collector = createCollector(pass, adapter, gradients)
  await normBackward(pass, plan.backward)
  for (let layer = plan.layers.length - 1; layer >= 0; layer -= 1) {
    // The layer's own kept values were overwritten by the layers above it.
    if (!plan.keepsLayers && layer < plan.layers.length - 1) await runLayer(pass, layer)
    using g = new Graph(pass.work.runtime)
    const at = { scratch: plan.backward, needInput: layer > 0 }
    layerBackward(g, layerCall(pass, layer), at)
    await g.run(pass.work.allocator, pass.work.pacer)
    collector(layer)
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

/** Reads one layer's gradients from native memory and adds them to the caller's sums. */
function createCollector(
  pass: Pass,
  adapter: Adapter,
  gradients: AdapterGradients,
): (layer: number) => void {
  const byName = new Map(adapter.tensors.map((tensor, i) => [tensor.name, gradients.tensors[i]]))
  const scratch = pass.plan.backward as BackwardScratch
  return (layer) => {
    using g = new Graph(pass.work.runtime)
    for (const name of groupNames) {
      const group = layerAt(pass.weights.layers, layer)[name]
      const gradA = readSlot(g, scratch.gradA[name])
      group.members.forEach((member, m) => {
        const target = byName.get(member.name)
        if (target === undefined) return
        const start = m * group.paddedRank * group.inFeatures
        addInto(target.a, gradA.subarray(start, start + target.a.length))
        const gradB = readSlot(g, layerAt(scratch.gradB[name], m))
        addTransposed(target.b, gradB, { adapter, outFeatures: member.outFeatures })
      })
    }
  }
}

function readSlot(g: Graph, slot: BackwardScratch['dy']): Float32Array {
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
