import type { HeatMap } from '../../../shared/contract/app.ts'
import {
  heat,
  isChosenByToken,
  mainChoice,
  parseColor,
  rowSum,
  scaleColor,
  sumLeft,
  visibleToken,
  type Cell,
  type Offset,
  type Scale,
} from './heat-layout.ts'

export interface HeatPaint {
  map: HeatMap
  width: number
  height: number
  scroll: Offset
  active: Cell | null
  words: { hint: (index: number) => string; sum: (sum: number, of: number) => string }
}

interface Ink {
  scale: Scale
  page: string
  ink: string
  soft: string
  faint: string
  accent: string
  onLow: string
  onHigh: string
  sans: string
  mono: string
}

/** From here on a cell is dark enough (or bright enough) for the other ink. */
const inkTurn = 0.62

export function readInk(element: Element): Ink {
  const style = getComputedStyle(element)
  const value = (name: string): string => style.getPropertyValue(name).trim()
  return {
    scale: {
      low: parseColor(value('--heat-low')),
      mid: parseColor(value('--heat-mid')),
      high: parseColor(value('--heat-high')),
    },
    page: value('--card'),
    ink: value('--ink'),
    soft: value('--ink-soft'),
    faint: value('--ink-faint'),
    accent: value('--accent'),
    onLow: value('--heat-ink-low'),
    onHigh: value('--heat-ink-high'),
    sans: style.fontFamily,
    mono: 'ui-monospace, Menlo, monospace',
  }
}

/** Draws only what is visible: labels stay at the left, token heads at the top. */
export function drawHeat(context: CanvasRenderingContext2D, paint: HeatPaint, ink: Ink): void {
  const { map, width, height, scroll } = paint
  context.clearRect(0, 0, width, height)
  const firstColumn = Math.max(0, Math.floor(scroll.left / heat.cell) - 3)
  const lastColumn = Math.min(
    map.responseIds.length,
    Math.ceil((scroll.left + width - heat.label) / heat.cell) + 1,
  )
  const firstRow = Math.max(0, Math.floor(scroll.top / heat.cell))
  const lastRow = Math.min(
    map.hints.length,
    Math.ceil((scroll.top + height - heat.head) / heat.cell) + 1,
  )
  const range = { firstColumn, lastColumn, firstRow, lastRow }
  drawCells(context, paint, { ink, range })
  drawHeads(context, paint, { ink, range })
  drawSides(context, paint, { ink, range })
}

interface Range {
  firstColumn: number
  lastColumn: number
  firstRow: number
  lastRow: number
}

interface Setting {
  ink: Ink
  range: Range
}

function drawCells(
  context: CanvasRenderingContext2D,
  paint: HeatPaint,
  { ink, range }: Setting,
): void {
  const { map, scroll, active } = paint
  const marksCells = isChosenByToken(map)
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  for (let row = range.firstRow; row < range.lastRow; row += 1) {
    for (let column = range.firstColumn; column < range.lastColumn; column += 1) {
      const overlap = map.hints[row]?.overlap[column] ?? 0
      const share = overlap / Math.max(1, map.topK)
      const x = heat.label + column * heat.cell - scroll.left
      const y = heat.head + row * heat.cell - scroll.top
      const size = heat.cell - heat.gap
      context.fillStyle = scaleColor(ink.scale, share)
      roundRect(context, { x, y, width: size, height: size })
      context.fill()
      context.fillStyle = share >= inkTurn ? ink.onHigh : ink.onLow
      context.font = `11px ${ink.sans}`
      const isMarked = marksCells && map.chosen[column] === row
      context.fillText(isMarked ? `${overlap}◆` : String(overlap), x + size / 2, y + size / 2 + 0.5)
      if (active?.hint === row && active.position === column) {
        context.strokeStyle = ink.ink
        context.lineWidth = 2
        roundRect(context, { x: x + 1, y: y + 1, width: size - 2, height: size - 2 })
        context.stroke()
      }
    }
  }
}

function drawHeads(
  context: CanvasRenderingContext2D,
  paint: HeatPaint,
  { ink, range }: Setting,
): void {
  const { map, width, scroll, active } = paint
  context.clearRect(0, 0, width, heat.head)
  context.textAlign = 'left'
  context.textBaseline = 'middle'
  for (let column = range.firstColumn; column < range.lastColumn; column += 1) {
    const isActive = active?.position === column
    context.save()
    context.translate(heat.label + column * heat.cell - scroll.left + 10, heat.head - 7)
    context.rotate(-Math.PI / 3.4)
    context.fillStyle = isActive ? ink.ink : ink.soft
    context.font = `${isActive ? '600 ' : ''}11.5px ${ink.mono}`
    context.fillText(shorten(visibleToken(map.responseTexts[column] ?? ''), 10), 0, 0)
    context.restore()
  }
}

function drawSides(
  context: CanvasRenderingContext2D,
  paint: HeatPaint,
  { ink, range }: Setting,
): void {
  const { map, width, height, scroll, words } = paint
  const chosen = mainChoice(map)
  context.clearRect(0, 0, heat.label, height)
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  const sumX = sumLeft(map, width)
  context.clearRect(sumX, 0, heat.sum, height)
  const of = map.responseIds.length * map.topK
  for (let row = range.firstRow; row < range.lastRow; row += 1) {
    const hint = map.hints[row]
    const y = heat.head + row * heat.cell - scroll.top + heat.cell / 2 - 1
    if (hint === undefined || y < heat.head) continue
    const isChosen = chosen === row
    context.fillStyle = isChosen ? ink.accent : ink.soft
    context.font = `${isChosen ? '600 ' : ''}12px ${ink.sans}`
    context.fillText(isChosen ? '◆' : '', 2, y)
    context.fillText(
      fit(context, hint.text === '' ? words.hint(row + 1) : hint.text, heat.label - 26),
      16,
      y,
    )
    context.fillStyle = isChosen ? ink.ink : ink.faint
    context.font = `${isChosen ? '600 ' : ''}12px ${ink.sans}`
    context.fillText(words.sum(rowSum(hint.overlap), of), sumX + 10, y)
  }
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let kept = text.length
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > width) kept -= 1
  return `${text.slice(0, kept).trimEnd()}…`
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

function roundRect(context: CanvasRenderingContext2D, { x, y, width, height }: Box): void {
  context.beginPath()
  context.roundRect(x, y, width, height, 4)
}
