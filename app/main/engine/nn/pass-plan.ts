// The places of a whole pass, native or portable, made to fit: values are kept for backward where that fits and
// computed again where it does not; what cannot fit at all is refused with what would help.
import { Arena, type ArenaPart, type Kernels, type Runtime, type Slot } from '../ffi/index.ts'
import type { ModelConfig } from './config.ts'
import { headRows, type HeadScratch } from './head.ts'
import { largestThat, shortage } from './memory.ts'
import { planNative, type NativePlan } from './native/plan.ts'
import { planCall, type CallPlan } from './plan.ts'
import type { ModelWeights } from './weights.ts'

export interface PassSize {
  /** Input tokens, padded. */
  readonly T: number
  /** Response positions of all sequences. */
  readonly R: number
  /** Position of the first one; only for a single sequence. */
  readonly firstRow: number
  readonly idsPerRow: number
  readonly topK: number
  readonly gradient: boolean
  readonly baseHidden: boolean
}

export interface PassPlace {
  readonly runtime: Runtime
  /** Null = the portable path. */
  readonly kernels: Kernels | null
  readonly info: ModelConfig
  readonly weights: ModelWeights
  readonly keptBytes: number
  readonly availableBytes: () => number
}

interface Places {
  readonly baseHidden: Slot | null
  /** Of all layers. */
  readonly keepsLayers: boolean
}

export interface NativePlaces extends Places {
  readonly kind: 'native'
  readonly plan: NativePlan
}

export interface PortablePlaces extends Places {
  readonly kind: 'portable'
  readonly plan: CallPlan
  readonly head: HeadScratch
}

/** Plans into the arena, which must hold nothing else. */
export function planPass(
  arena: Arena,
  place: PassPlace,
  size: PassSize,
): NativePlaces | PortablePlaces {
  arena.reset()
  const { info, weights, kernels, keptBytes } = place
  const common = { info, weights, keptBytes, withBackward: size.gradient }
  if (kernels !== null) {
    const plan = planNative(arena, { ...common, ...size, kernels })
    const baseHidden = size.baseHidden ? arena.plan([info.width, plan.R]) : null
    return { kind: 'native', plan, baseHidden, keepsLayers: plan.recomputed === 0 }
  }
  const plan = planCall(arena, { ...common, T: size.T, R: size.R, firstRow: size.firstRow })
  arena.section('head')
  const rows = Math.min(plan.R, headRows(info.vocabulary))
  const head = {
    rows,
    logits: arena.plan([info.vocabulary, rows]),
    ids: arena.plan([Math.max(1, size.idsPerRow), rows], 'i32'),
    factors: arena.plan([size.idsPerRow + 1, rows]),
  }
  const baseHidden = size.baseHidden ? arena.plan([info.width, plan.R]) : null
  return { kind: 'portable', plan, head, baseHidden, keepsLayers: plan.keepsLayers }
}

/** Plans and allocates. Rejects with `out-of-memory`, before anything is allocated. */
export function placePass(
  arena: Arena,
  place: PassPlace,
  size: PassSize,
): NativePlaces | PortablePlaces {
  const available = place.availableBytes()
  const fits = (): boolean => arena.used <= arena.held || arena.used - arena.held <= available
  let places = planPass(arena, place, size)
  if (!fits() && place.keptBytes > 0) places = planPass(arena, { ...place, keptBytes: 0 }, size)
  if (!fits()) {
    throw shortage({
      purpose: `${size.T} tokens`,
      parts: arena.parts(),
      neededBytes: arena.used - arena.held,
      availableBytes: available,
      help: helpFor(place, size, available + arena.held),
    })
  }
  arena.commit()
  return places
}

/** Parts of a pass that keeps values if it can, and whether it can. */
export function measurePass(
  place: PassPlace,
  size: PassSize,
): { readonly parts: ArenaPart[]; readonly totalBytes: number; readonly keepsLayers: boolean } {
  using arena = new Arena(place.runtime)
  const { keepsLayers } = planPass(arena, place, size)
  return { parts: arena.parts(), totalBytes: arena.used, keepsLayers }
}

function helpFor(place: PassPlace, size: PassSize, room: number): string[] {
  const frugal = { ...place, keptBytes: 0 }
  const bytes = (changed: Partial<PassSize>, weights = place.weights): number =>
    measurePass({ ...frugal, weights }, { ...size, ...changed }).totalBytes
  const blocks = largestThat(
    (count) => {
      const T = Math.max(1, count) * 16
      return bytes({ T, R: Math.min(size.R, T), firstRow: 0 }) <= room
    },
    Math.floor(size.T / 16),
  )
  const smaller = { ...place.weights, paddedRank: 16 }
  const saved = bytes({}) - bytes({}, smaller)
  return [
    blocks > 0
      ? `a limit of ${blocks * 16} tokens per sample`
      : 'closing other programs: not even a short sample fits',
    ...(saved > 2 ** 20 ? [`a rank of 16 (saves ${Math.round(saved / 2 ** 20)} MiB)`] : []),
    'a smaller model',
  ]
}
