// Where every value of a call on our kernels lives: what forward keeps for backward, and what is used again by each
// layer. Layouts follow native/: one row per token.
import type { Arena, Kernels, Slot } from '../../ffi/index.ts'
import { headSlices } from '../../ffi/kernel-ops.ts'
import type { ModelInfo } from '../../types.ts'
import { groupNames, type GroupName, type ModelWeights } from '../weights.ts'
import { rankOf } from '../ops/packed-linear.ts'

/** Kept from forward to backward. */
export interface LayerSlots {
  readonly x: Slot // [C, T]
  readonly qkv: Slot // [D, H + 2K, T], rotated
  readonly sums: Slot // [H, T]
  readonly attended: Slot // [D · H, T]
  readonly middle: Slot // [C, T]
  readonly gateUp: Slot // [2F, T]
  /** A x of each group's pairs, [P, T]. */
  readonly h: Readonly<Record<GroupName, Slot>>
}

/** Memory that all layers share. */
export interface SharedSlots {
  readonly scratch: Slot
  readonly places: Slot // i32 [2, T]
  readonly table: Slot // [D, T]
  readonly normed: Slot // [C, T]
  readonly activated: Slot // [F, T]
}

export interface BackwardSlots {
  readonly dy: Slot // [C, T]
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
  readonly firstRow: number
  readonly tokens: Slot // i32 [T]
  readonly layers: readonly LayerSlots[]
  readonly final: Slot // [C, T]
  readonly hidden: Slot // [C, R]
  readonly shared: SharedSlots
  readonly head: HeadSlots
  readonly backward: BackwardSlots | null
  readonly keepsLayers: boolean
}

export interface NativePlanRequest {
  readonly info: ModelInfo
  readonly kernels: Kernels
  readonly weights: ModelWeights
  readonly T: number
  readonly R: number
  readonly firstRow: number
  readonly withBackward: boolean
  readonly idsPerRow: number
  readonly topK: number
  readonly keptBytes: number
}

export function planNative(arena: Arena, request: NativePlanRequest): NativePlan {
  const { info, T, R } = request
  const bytes = layerFloats(request) * 4 * info.layers
  const keepsLayers = request.withBackward && bytes <= request.keptBytes
  const shared = keepsLayers ? null : planLayer(arena, request)
  const slot = (): Slot => arena.plan([info.width, T])
  // Without backward two places take turns as a layer's input.
  const turns = request.withBackward ? null : [slot(), slot()]
  const inputs = Array.from({ length: info.layers + 1 }, (_, i) => turns?.[i % 2] ?? slot())
  const at = (index: number): Slot => {
    const found = inputs[index]
    if (found === undefined) throw new Error(`there is no layer ${index}`)
    return found
  }
  return {
    T,
    R,
    firstRow: request.firstRow,
    tokens: arena.plan([T], 'i32'),
    layers: request.weights.layers.map((_, layer) => ({
      ...(shared ?? planLayer(arena, request)),
      x: at(layer),
    })),
    final: at(info.layers),
    hidden: arena.plan([info.width, R]),
    shared: planShared(arena, request),
    head: planHead(arena, request),
    backward: request.withBackward ? planBackward(arena, request) : null,
    keepsLayers,
  }
}

type KeptShapes = Record<Exclude<keyof LayerSlots, 'x' | 'h'>, readonly number[]>

function keptShapes({ info, T }: NativePlanRequest): KeptShapes {
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  return {
    qkv: [D, H + 2 * K, T],
    sums: [H, T],
    attended: [D * H, T],
    middle: [C, T],
    gateUp: [2 * F, T],
  }
}

function layerFloats(request: NativePlanRequest): number {
  const shapes = Object.values(keptShapes(request))
  const values = shapes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
  const ranks = groupNames.reduce((sum, name) => sum + rankOf(request.weights, name), 0)
  return values + ranks * request.T
}

function planLayer(arena: Arena, request: NativePlanRequest): Omit<LayerSlots, 'x'> {
  const shapes = keptShapes(request)
  return {
    qkv: arena.plan(shapes.qkv),
    sums: arena.plan(shapes.sums),
    attended: arena.plan(shapes.attended),
    middle: arena.plan(shapes.middle),
    gateUp: arena.plan(shapes.gateUp),
    h: byGroup((name) => arena.plan([rankOf(request.weights, name), request.T])),
  }
}

function planShared(arena: Arena, { info, kernels, T }: NativePlanRequest): SharedSlots {
  const { width, headSize, feedForward } = info
  return {
    scratch: kernels.planScratch(arena, { tokens: T, headSize, width }),
    places: arena.plan([2, T], 'i32'),
    table: arena.plan([headSize, T]),
    normed: arena.plan([width, T]),
    activated: arena.plan([feedForward, T]),
  }
}

function planHead(arena: Arena, request: NativePlanRequest): HeadSlots {
  const { info, kernels, R, topK, withBackward } = request
  const rows = Math.min(R, kernels.headRows)
  const M = Math.max(1, request.idsPerRow)
  return {
    rows,
    ids: arena.plan([M, rows], 'i32'),
    logits: arena.plan([M, rows]),
    stats: arena.plan([2 + 2 * topK, rows, headSlices]),
    factors: arena.plan([3, rows]),
    gradients: arena.plan([M, rows]),
    parts: arena.plan([rows, headSlices]),
    dHidden: withBackward ? arena.plan([info.width, rows, headSlices]) : null,
  }
}

function planBackward(arena: Arena, request: NativePlanRequest): BackwardSlots {
  const { info, weights, T, R } = request
  const { width: C, headSize: D, heads: H, keyValueHeads: K, feedForward: F } = info
  const [layer] = weights.layers
  if (layer === undefined) throw new Error('the model has no layers')
  const largest = Math.max(...groupNames.map((name) => rankOf(weights, name)))
  return {
    dy: arena.plan([C, T]),
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
