// Where every value of a call on our kernels lives: what forward keeps for backward, and what is used again by each
// layer. Layouts follow native/: one row per token.
import { ops, type Arena, type Kernels, type Slot } from '../../ffi/index.ts'
import type { LayerAttention, ModelConfig } from '../config.ts'
import { rankOf } from '../ops/packed-linear.ts'
import { keptName } from '../plan.ts'
import { groupNames, type GroupName, type ModelWeights } from '../weights.ts'

/** Kept from forward to backward. */
export interface LayerSlots {
  readonly x: Slot // [C, T]
  readonly qkv: Slot // [D, H + 2K, T], rotated
  readonly sums: Slot // [H, T]
  readonly attended: Slot // [D · H, T]
  readonly middle: Slot // [C, T]
  readonly gateUp: Slot // [2F, T]
  /** Before the heads' norms; null where the architecture has none. */
  readonly rawQkv: Slot | null // [D, H + 2K, T]
  /** Outputs of the two branches before their norms. */
  readonly attentionOutput: Slot | null // [C, T]
  readonly feedForwardOutput: Slot | null // [C, T]
  /** A x of each group's pairs, [P, T]. */
  readonly h: Readonly<Record<GroupName, Slot>>
}

/** What a kind of layer sees of the sequence: its window and rotary angles. */
export interface View {
  readonly attention: LayerAttention
  readonly places: Slot // i32 [2, T]
  readonly table: Slot // [D, T]
}

/** Memory that all layers share. */
export interface SharedSlots {
  readonly scratch: Slot
  readonly normed: Slot // [C, T]
  readonly activated: Slot // [F, T]
}

export interface BackwardSlots {
  readonly dy: Slot // [C, T]
  readonly dBranch: Slot | null // [C, T]
  readonly dNormed: Slot // [C, T]
  readonly dActivated: Slot // [F, T]
  readonly dGateUp: Slot // [2F, T]
  readonly dAttended: Slot // [D · H, T]
  readonly dParts: Slot // [D, 3H, T]
  readonly dQkv: Slot // [D, H + 2K, T]
  readonly dh: Slot // [largest P, T]
  /** Gradients of one layer: A [I, P], and Bᵀ / s [O, p] of each member. */
  readonly gradA: Readonly<Record<GroupName, Slot>>
  readonly gradB: Readonly<Record<GroupName, readonly Slot[]>>
  readonly dHidden: Slot // [C, R]
}

/** Memory of the LM head for a few hundred positions at a time. */
export interface HeadSlots {
  readonly rows: number
  readonly ids: Slot // i32 [M, rows]
  readonly logits: Slot // [M, rows]
  readonly stats: Slot // [2 + 2K, rows, slices]
  readonly factors: Slot // [3, rows]
  readonly gradients: Slot // [M, rows]
  readonly parts: Slot // [rows, slices]
  readonly dHidden: Slot | null // [C, rows, slices]
}

export interface NativePlan {
  readonly T: number
  readonly R: number
  readonly layers: readonly LayerSlots[]
  readonly views: readonly View[]
  readonly final: Slot // [C, T]
  readonly hidden: Slot // [C, R]
  readonly shared: SharedSlots
  readonly head: HeadSlots
  readonly backward: BackwardSlots | null
  /** The first layers, whose values are not kept and computed again for their gradients. */
  readonly recomputed: number
}

export interface NativePlanRequest {
  readonly info: ModelConfig
  readonly kernels: Kernels
  readonly weights: ModelWeights
  readonly T: number
  readonly R: number
  readonly withBackward: boolean
  readonly idsPerRow: number
  readonly topK: number
  readonly keptBytes: number
}

export function planNative(arena: Arena, request: NativePlanRequest): NativePlan {
  const { info, T, R } = request
  const kept = keptLayers(request)
  arena.section(keptName(kept === info.layers))
  const shared = kept === info.layers ? null : planLayer(arena, request)
  const slot = (): Slot => arena.plan([info.width, T])
  // Without backward two places take turns as a layer's input.
  const turns = request.withBackward ? null : [slot(), slot()]
  const inputs = Array.from({ length: info.layers + 1 }, (_, i) => turns?.[i % 2] ?? slot())
  const at = (index: number): Slot => {
    const found = inputs[index]
    if (found === undefined) throw new Error(`there is no layer ${index}`)
    return found
  }
  const layers = request.weights.layers.map((_, layer) => ({
    ...(shared !== null && layer < info.layers - kept ? shared : planLayer(arena, request)),
    x: at(layer),
  }))
  arena.section('work')
  return {
    T,
    R,
    layers,
    views: planViews(arena, request),
    final: at(info.layers),
    hidden: arena.plan([info.width, R]),
    shared: planShared(arena, request),
    head: planHead(arena, request),
    backward: request.withBackward ? planBackward(arena, request) : null,
    // The last layer without a place of its own still has its values when the backward pass comes to it.
    recomputed: Math.max(0, info.layers - kept - 1),
  }
}

/** The share of the room that some layers may take: the rest of a long pass needs more, too. */
const shareForSome = 3 / 4

/** All layers where there is room, else as many of the last ones as get it. */
function keptLayers(request: NativePlanRequest): number {
  const { layers } = request.info
  const room = request.withBackward ? request.keptBytes / (layerFloats(request) * 4) : 0
  return room >= layers ? layers : Math.floor(room * shareForSome)
}

/** Null = the architecture keeps no such value. */
type KeptShapes = Record<Exclude<keyof LayerSlots, 'x' | 'h'>, readonly number[] | null>

function keptShapes({ info, T }: NativePlanRequest): KeptShapes {
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  const { headNorms, postNorms } = info.design
  return {
    qkv: [D, H + 2 * K, T],
    sums: [H, T],
    attended: [D * H, T],
    middle: [C, T],
    gateUp: [2 * F, T],
    rawQkv: headNorms ? [D, H + 2 * K, T] : null,
    attentionOutput: postNorms ? [C, T] : null,
    feedForwardOutput: postNorms ? [C, T] : null,
  }
}

function layerFloats(request: NativePlanRequest): number {
  const shapes = Object.values(keptShapes(request)).filter((shape) => shape !== null)
  const values = shapes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
  const ranks = groupNames.reduce((sum, name) => sum + rankOf(request.weights, name), 0)
  return values + ranks * request.T
}

function planLayer(arena: Arena, request: NativePlanRequest): Omit<LayerSlots, 'x'> {
  const entries = Object.entries(keptShapes(request)).map(
    ([name, shape]) => [name, shape === null ? null : arena.plan(shape)] as const,
  )
  return {
    ...(Object.fromEntries(entries) as unknown as Omit<LayerSlots, 'x' | 'h'>),
    h: byGroup((name) => arena.plan([rankOf(request.weights, name), request.T])),
  }
}

/** One for each kind of layer: most models have one, those with windows two. */
function planViews(arena: Arena, { info, T }: NativePlanRequest): View[] {
  return [...new Set(info.attention)].map((attention) => ({
    attention,
    places: arena.plan([2, T], 'i32'),
    table: arena.plan([info.headSize, T]),
  }))
}

function planShared(arena: Arena, { info, kernels, T }: NativePlanRequest): SharedSlots {
  const { width, headSize, feedForward } = info
  return {
    scratch: kernels.planScratch(arena, { tokens: T, headSize, width }),
    normed: arena.plan([width, T]),
    activated: arena.plan([feedForward, T]),
  }
}

function planHead(arena: Arena, request: NativePlanRequest): HeadSlots {
  const { info, kernels, R, topK, withBackward } = request
  arena.section('head')
  const rows = Math.min(R, kernels.headRows)
  const M = Math.max(1, request.idsPerRow)
  return {
    rows,
    ids: arena.plan([M, rows], 'i32'),
    logits: arena.plan([M, rows]),
    stats: arena.plan([2 + 2 * topK, rows, ops.headSlices]),
    factors: arena.plan([3, rows]),
    gradients: arena.plan([M, rows]),
    parts: arena.plan([rows, ops.headSlices]),
    dHidden: withBackward ? arena.plan([info.width, rows, ops.headSlices]) : null,
  }
}

function planBackward(arena: Arena, request: NativePlanRequest): BackwardSlots {
  arena.section('backward')
  const { info, weights, T, R } = request
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  const [layer] = weights.layers
  if (layer === undefined) throw new Error('the model has no layers')
  const largest = Math.max(...groupNames.map((name) => rankOf(weights, name)))
  return {
    dy: arena.plan([C, T]),
    dBranch: info.design.postNorms ? arena.plan([C, T]) : null,
    dNormed: arena.plan([C, T]),
    dActivated: arena.plan([F, T]),
    dGateUp: arena.plan([2 * F, T]),
    dAttended: arena.plan([D * H, T]),
    dParts: arena.plan([D, 3 * H, T]),
    dQkv: arena.plan([D, H + 2 * K, T]),
    dh: arena.plan([largest, T]),
    gradA: byGroup((name) => arena.plan([layer[name].inFeatures, rankOf(weights, name)])),
    gradB: byGroup((name) =>
      layer[name].members.map((member) => arena.plan([member.outFeatures, weights.paddedRank])),
    ),
    dHidden: arena.plan([C, R]),
  }
}

function byGroup<T>(make: (name: GroupName) => T): Record<GroupName, T> {
  return Object.fromEntries(groupNames.map((name) => [name, make(name)])) as Record<GroupName, T>
}
