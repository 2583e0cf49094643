import type { HeatMap } from '../../../shared/contract/app.ts'

/** Pixel sizes of the map: everything is drawn at scroll offset 0 and shifted. */
export const heat = {
  label: 204,
  sum: 116,
  head: 62,
  cell: 26,
  gap: 2,
} as const

export interface Cell {
  hint: number
  position: number
}

export interface Offset {
  left: number
  top: number
}

export interface Point {
  x: number
  y: number
}

export interface Frame {
  scroll: Offset
  /** Of the visible part. */
  width: number
}

/** Sums stand beside the last column, or at the right edge while that is further away. */
export function sumLeft(map: HeatMap, width: number): number {
  return Math.min(heat.label + map.responseIds.length * heat.cell, width - heat.sum)
}

export function heatSize(map: HeatMap): { width: number; height: number } {
  return {
    width: heat.label + map.responseIds.length * heat.cell + heat.sum,
    height: heat.head + map.hints.length * heat.cell + heat.gap,
  }
}

/** The cell under a point of the visible part; null over labels, heads and sums. */
export function cellAt(map: HeatMap, point: Point, { scroll, width }: Frame): Cell | null {
  if (point.x < heat.label || point.y < heat.head || point.x >= sumLeft(map, width)) return null
  const position = Math.floor((point.x + scroll.left - heat.label) / heat.cell)
  const hint = Math.floor((point.y + scroll.top - heat.head) / heat.cell)
  const isInside = position < map.responseIds.length && hint < map.hints.length
  return isInside ? { hint, position } : null
}

/** The cell that a key leads to; null when the key means nothing here. */
export function moveCell(map: HeatMap, cell: Cell, key: string): Cell | null {
  const lastPosition = map.responseIds.length - 1
  const lastHint = map.hints.length - 1
  const { hint, position } = cell
  switch (key) {
    case 'ArrowRight':
      return { hint, position: Math.min(lastPosition, position + 1) }
    case 'ArrowLeft':
      return { hint, position: Math.max(0, position - 1) }
    case 'ArrowDown':
      return { hint: Math.min(lastHint, hint + 1), position }
    case 'ArrowUp':
      return { hint: Math.max(0, hint - 1), position }
    case 'Home':
      return { hint, position: 0 }
    case 'End':
      return { hint, position: lastPosition }
    default:
      return null
  }
}

export function overlapAt(map: HeatMap, { hint, position }: Cell): number {
  return map.hints[hint]?.overlap[position] ?? 0
}

export function rowSum(overlap: readonly number[]): number {
  return overlap.reduce((sum, value) => sum + value, 0)
}

/** The hint that was chosen at most positions; null when none was. */
export function mainChoice(map: HeatMap): number | null {
  const counts = new Map<number, number>()
  for (const hint of map.chosen) counts.set(hint, (counts.get(hint) ?? 0) + 1)
  let best: number | null = null
  for (const [hint, count] of counts) {
    if (best === null || count > (counts.get(best) ?? 0)) best = hint
  }
  return best !== null && map.hints[best] !== undefined ? best : null
}

/** Choice by sequence marks a row; choice by token marks cells. */
export function isChosenByToken(map: HeatMap): boolean {
  return new Set(map.chosen).size > 1
}

/** White space has no shape of its own; these stand for it. */
export function visibleToken(text: string): string {
  return text.replaceAll(' ', '·').replaceAll('\n', '⏎').replaceAll('\t', '⇥')
}

type Rgb = readonly [number, number, number]

export function parseColor(text: string): Rgb {
  const hex = text.trim().replace('#', '')
  const value = Number.parseInt(hex, 16)
  if (hex.length !== 6 || Number.isNaN(value)) return [128, 128, 128]
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

export interface Scale {
  low: Rgb
  mid: Rgb
  high: Rgb
}

/** One hue from pale to deep; `share` is overlap / K. */
export function scaleColor({ low, mid, high }: Scale, share: number): string {
  const clamped = Math.min(1, Math.max(0, share))
  const [from, to, part] =
    clamped < 0.5 ? [low, mid, clamped * 2] : [mid, high, (clamped - 0.5) * 2]
  const mixed = from.map((channel, index) =>
    Math.round(channel + ((to[index] ?? 0) - channel) * part),
  )
  return `rgb(${mixed.join(' ')})`
}

export interface RankedToken {
  id: number
  text: string
  probability: number
  isShared: boolean
}

export interface CellLists {
  student: RankedToken[]
  teacher: RankedToken[]
}

/** Both top-K lists at one cell, with what they share. */
export function listsAt(map: HeatMap, { hint, position }: Cell): CellLists {
  const student = map.student[position]
  const teacher = map.hints[hint]?.teacher[position]
  const rank = (own: typeof student, other: typeof student): RankedToken[] =>
    (own?.ids ?? []).map((id, index) => ({
      id,
      text: map.tokenTexts[String(id)] ?? `#${id}`,
      probability: Math.exp(own?.logProbs[index] ?? Number.NaN),
      isShared: other?.ids.includes(id) ?? false,
    }))
  return { student: rank(student, teacher), teacher: rank(teacher, student) }
}
