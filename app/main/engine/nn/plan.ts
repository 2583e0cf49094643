// Decides where every value of one call lives before anything is computed, and whether the layers' values are
// all kept for backward or computed again layer by layer.
import { AppError } from '../../../shared/errors.ts'
import type { Arena, Slot } from '../ffi/index.ts'
import type { ModelConfig } from './config.ts'
import type { BackwardScratch, LayerScratch, LayerSlots } from './layer.ts'
import { groupNames, type GroupName, type ModelWeights } from './weights.ts'

export interface CallPlan {
  /** Input tokens, padded. */
  readonly T: number
  /** Response positions; row r of the head reads the hidden state of token `firstRow + r`. */
  readonly R: number
  readonly firstRow: number
  readonly tokens: Slot // i32 [T]
  readonly layers: readonly LayerSlots[]
  /** Output of the last layer, [C, T]. */
  readonly final: Slot
  readonly scratch: LayerScratch
  /** Normed hidden states at the response positions, [C, R]. */
  readonly hidden: Slot
  readonly backward: (BackwardScratch & { readonly dHidden: Slot }) | null
  /** False: layers share their slots, so backward must run each layer's forward again. */
  readonly keepsLayers: boolean
}

export interface PlanRequest {
  readonly info: ModelConfig
  readonly weights: ModelWeights
  /** Input tokens, padded to a multiple of 16. */
  readonly T: number
  readonly R: number
  readonly firstRow: number
  readonly withBackward: boolean
  /** Values kept for backward up to this size; above it each layer's forward runs twice. */
  readonly keptBytes: number
}

/** What the kept values are called in a memory plan. */
export function keptName(keepsLayers: boolean): string {
  return keepsLayers ? 'values kept for backward' : 'one layer at a time'
}

export function planCall(arena: Arena, request: PlanRequest): CallPlan {
  const { info, weights, T, R, firstRow } = request
  const shapes = layerShapes(request, T)
  const bytes = Object.values(shapes).reduce((sum, shape) => sum + sizeOf(shape) * 4, 0)
  const keepsLayers = request.withBackward && bytes * info.layers <= request.keptBytes
  arena.section(keptName(keepsLayers))
  const shared = keepsLayers ? null : planLayer(arena, shapes)
  const inputs = planInputs(arena, request, { T, keepsLayers })
  const layers = weights.layers.map((_, layer) => ({
    ...(shared ?? planLayer(arena, shapes)),
    x: inputs[layer] ?? missing(),
  }))
  arena.section('work')
  return {
    T,
    R,
    firstRow,
    tokens: arena.plan([T], 'i32'),
    layers,
    final: inputs[info.layers] ?? missing(),
    scratch: planScratch(arena, request, T),
    hidden: arena.plan([info.width, R]),
    backward: request.withBackward ? planBackward(arena, request, { T, R }) : null,
    keepsLayers,
  }
}

function missing(): never {
  throw new Error('a layer has no input slot')
}

function sizeOf(shape: readonly number[] | null): number {
  return shape === null ? 0 : shape.reduce((total, size) => total * size, 1)
}

/** Null = the architecture keeps no such value. */
type LayerShapes = Record<Exclude<keyof LayerSlots, 'x'>, readonly number[] | null>

function layerShapes({ info, weights }: PlanRequest, T: number): LayerShapes {
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  const { headNorms, postNorms } = info.design
  return {
    queryInput: headNorms ? [D, H, T] : null,
    keyInput: headNorms ? [D, K, T] : null,
    attentionOutput: postNorms ? [C, T] : null,
    feedForwardOutput: postNorms ? [C, T] : null,
    q: [D, H, T],
    k: [D, T, K],
    v: [D, T, K],
    attended: [D * H, T],
    middle: [C, T],
    gateUp: [2 * F, T],
    hQkv: [3 * weights.paddedRank, T],
    hOutput: [weights.paddedRank, T],
    hGateUp: [2 * weights.paddedRank, T],
    hDown: [weights.paddedRank, T],
  }
}

function planLayer(arena: Arena, shapes: LayerShapes): Omit<LayerSlots, 'x'> {
  const entries = Object.entries(shapes).map(
    ([name, shape]) => [name, shape === null ? null : arena.plan(shape)] as const,
  )
  return Object.fromEntries(entries) as unknown as Omit<LayerSlots, 'x'>
}

/** One residual slot per layer and one for the result; without backward two take turns. */
function planInputs(
  arena: Arena,
  { info, withBackward }: PlanRequest,
  { T }: { readonly T: number; readonly keepsLayers: boolean },
): Slot[] {
  const slot = (): Slot => arena.plan([info.width, T])
  if (withBackward) return Array.from({ length: info.layers + 1 }, slot)
  const turns = [slot(), slot()] as const
  return Array.from({ length: info.layers + 1 }, (_, layer) => turns[layer % 2 === 0 ? 0 : 1])
}

function byGroup<T>(make: (name: GroupName) => T): Record<GroupName, T> {
  return Object.fromEntries(groupNames.map((name) => [name, make(name)])) as Record<GroupName, T>
}

function firstLayer(weights: ModelWeights): NonNullable<ModelWeights['layers'][number]> {
  const layer = weights.layers[0]
  if (layer === undefined) throw new AppError('corrupt', 'the model has no layers')
  return layer
}

function rankOf(weights: ModelWeights, name: GroupName): number {
  return firstLayer(weights)[name].members.length * weights.paddedRank
}

function planScratch(arena: Arena, { info, weights }: PlanRequest, T: number): LayerScratch {
  const layer = firstLayer(weights)
  return {
    positions: arena.plan([T], 'i32'),
    qkv: arena.plan([layer.qkv.outFeatures, T]),
    projected: arena.plan([info.width, T]),
    joined: byGroup((name) => arena.plan([layer[name].inFeatures + rankOf(weights, name), T])),
  }
}

function planBackward(
  arena: Arena,
  { info, weights }: PlanRequest,
  { T, R }: { readonly T: number; readonly R: number },
): BackwardScratch & { readonly dHidden: Slot } {
  arena.section('backward')
  const layer = firstLayer(weights)
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  return {
    dy: arena.plan([C, T]),
    dq: arena.plan([D, H, T]),
    dk: arena.plan([D, T, K]),
    dv: arena.plan([D, T, K]),
    dWide: arena.plan([F, T]),
    dAttended: arena.plan([D * H, T]),
    dNormed: arena.plan([C, T]),
    joined: byGroup((name) => arena.plan([layer[name].outFeatures + rankOf(weights, name), T])),
    gradA: byGroup((name) => arena.plan([layer[name].inFeatures, rankOf(weights, name)])),
    gradB: byGroup((name) =>
      layer[name].members.map((member) => arena.plan([member.outFeatures, weights.paddedRank])),
    ),
    dHidden: arena.plan([C, R]),
  }
}
