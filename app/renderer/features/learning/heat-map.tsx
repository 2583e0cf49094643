import { memo, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { HeatMap } from '../../../shared/contract/app.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { useDocumentTheme } from '../../ui/theme.ts'
import { drawHeat, readInk } from './heat-draw.ts'
import {
  cellAt,
  heat,
  heatSize,
  moveCell,
  overlapAt,
  visibleToken,
  type Cell,
} from './heat-layout.ts'

export interface HeatMapViewProps {
  map: HeatMap
  active: Cell | null
  onActive: (cell: Cell | null) => void
}

const tallestPx = 420
/** Up to here every cell is in the hidden grid; beyond, those around the active one. */
const mostCells = 4000
const around = 24

/** The drawing is a canvas; the grid beside it is what keyboards and screen readers use. */
export function HeatMapView({ map, active, onActive }: HeatMapViewProps) {
  const { heat: words } = useMessages().learning
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [focus, setFocus] = useState<Cell>({ hint: 0, position: 0 })
  const id = useId()
  const size = heatSize(map)
  useDrawing({ box, canvas, map, active, words })

  const choose = (cell: Cell): void => {
    setFocus(cell)
    onActive(cell)
    bringIntoView(box.current, cell)
  }
  return (
    <div
      ref={box}
      role="grid"
      tabIndex={0}
      aria-label={words.grid}
      aria-rowcount={map.hints.length}
      aria-colcount={map.responseIds.length}
      aria-activedescendant={`${id}-${focus.hint}-${focus.position}`}
      className="scroll-quiet relative overflow-auto rounded-lg border bg-card"
      style={{ height: Math.min(size.height + 18, tallestPx) }}
      onFocus={() => active === null && choose(focus)}
      onKeyDown={(event) => {
        const next = moveCell(map, focus, event.key)
        if (next === null) return
        event.preventDefault()
        choose(next)
      }}
      onPointerMove={(event) => {
        const cell = cellUnder(event, { box: box.current, map })
        if (cell !== null) onActive(cell)
      }}
      onPointerDown={(event) => {
        const cell = cellUnder(event, { box: box.current, map })
        if (cell !== null) choose(cell)
      }}
    >
      <div
        aria-hidden
        className="absolute top-0 left-0"
        style={{ width: size.width, height: size.height }}
      />
      <canvas ref={canvas} aria-hidden className="sticky top-0 left-0 block" />
      <HiddenGrid map={map} id={id} focus={focus} />
    </div>
  )
}

interface Target {
  box: HTMLDivElement | null
  map: HeatMap
}

function cellUnder(event: React.PointerEvent, { box, map }: Target): Cell | null {
  if (box === null) return null
  const frame = box.getBoundingClientRect()
  const point = { x: event.clientX - frame.left - 1, y: event.clientY - frame.top - 1 }
  const scroll = { left: box.scrollLeft, top: box.scrollTop }
  return cellAt(map, point, { scroll, width: box.clientWidth })
}

function bringIntoView(box: HTMLDivElement | null, { hint, position }: Cell): void {
  if (box === null) return
  const left = position * heat.cell
  const top = hint * heat.cell
  const roomX = box.clientWidth - heat.label - heat.sum - heat.cell
  const roomY = box.clientHeight - heat.head - heat.cell
  if (left < box.scrollLeft) box.scrollLeft = left
  if (left > box.scrollLeft + roomX) box.scrollLeft = left - roomX
  if (top < box.scrollTop) box.scrollTop = top
  if (top > box.scrollTop + roomY) box.scrollTop = top - roomY
}

interface DrawingOptions {
  box: React.RefObject<HTMLDivElement | null>
  canvas: React.RefObject<HTMLCanvasElement | null>
  map: HeatMap
  active: Cell | null
  words: { hint: (index: number) => string; sum: (sum: number, of: number) => string }
}

function useDrawing({ box, canvas, map, active, words }: DrawingOptions): void {
  const theme = useDocumentTheme()
  const latest = useRef<() => void>(() => undefined)
  useLayoutEffect(() => {
    latest.current = (): void => {
      const frame = box.current
      const target = canvas.current
      const context = target?.getContext('2d')
      if (frame === null || target === null || context === null || context === undefined) return
      const { clientWidth: width, clientHeight: height } = frame
      const ratio = window.devicePixelRatio
      if (
        target.width !== Math.round(width * ratio) ||
        target.height !== Math.round(height * ratio)
      ) {
        target.width = Math.round(width * ratio)
        target.height = Math.round(height * ratio)
        target.style.width = `${width}px`
        target.style.height = `${height}px`
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      const scroll = { left: frame.scrollLeft, top: frame.scrollTop }
      drawHeat(context, { map, width, height, scroll, active, words }, readInk(target))
    }
    latest.current()
  }, [box, canvas, map, active, words, theme])

  useEffect(() => {
    const frame = box.current
    if (frame === null) return
    const draw = (): void => latest.current()
    const observer = new ResizeObserver(draw)
    observer.observe(frame)
    frame.addEventListener('scroll', draw, { passive: true })
    return () => {
      observer.disconnect()
      frame.removeEventListener('scroll', draw)
    }
  }, [box])
}

/** Moving the pointer draws only the canvas anew, not these cells. */
const HiddenGrid = memo(function HiddenGrid({
  map,
  id,
  focus,
}: {
  map: HeatMap
  id: string
  focus: Cell
}) {
  const { heat: words } = useMessages().learning
  const isWhole = map.hints.length * map.responseIds.length <= mostCells
  const from = isWhole ? 0 : Math.max(0, focus.position - around)
  const to = isWhole ? map.responseIds.length : focus.position + around
  const rows = isWhole
    ? map.hints.map((_, row) => row)
    : [focus.hint - 1, focus.hint, focus.hint + 1].filter((row) => map.hints[row] !== undefined)
  return (
    <div role="rowgroup" className="sr-only">
      {rows.map((row) => (
        <div key={row} role="row" aria-rowindex={row + 1}>
          {map.responseTexts.slice(from, to).map((text, index) => {
            const cell = { hint: row, position: from + index }
            const name = words.cell({
              hint: row + 1,
              position: cell.position + 1,
              token: visibleToken(text),
              overlap: overlapAt(map, cell),
              of: map.topK,
            })
            return (
              <span
                key={cell.position}
                id={`${id}-${row}-${cell.position}`}
                role="gridcell"
                aria-colindex={cell.position + 1}
                aria-selected={focus.hint === row && focus.position === cell.position}
                aria-label={map.chosen[cell.position] === row ? `${name}, ${words.chosen}` : name}
              />
            )
          })}
        </div>
      ))}
    </div>
  )
})
