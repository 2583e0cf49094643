import { ReferenceLine, type TooltipContentProps } from 'recharts'

export const axisStyle = {
  tick: { fill: 'var(--ink-faint)', fontSize: 11.5 },
  tickLine: false,
  axisLine: { stroke: 'var(--line-strong)' },
} as const

export const gridStyle = { stroke: 'var(--line)', vertical: false } as const
export const chartMargin = { top: 16, right: 12, bottom: 0, left: -18 } as const

/** Short enough for an axis: two significant digits, a real minus. */
export function axisNumber(value: number): string {
  return String(Number(value.toPrecision(2))).replace('-', '−')
}

/** Evenly spaced whole numbers from 1 to `count`. */
export function wholeTicks(count: number, most = 6): number[] {
  const stride = Math.max(1, Math.ceil(count / most))
  const ticks: number[] = []
  for (let tick = 1; tick <= count; tick += stride) ticks.push(tick)
  return ticks
}

export interface Mark {
  x: number
  label: string
}

/** Where another version began to answer. */
export function marksOfChange<T>(
  points: readonly T[],
  read: { x: (point: T) => number; version: (point: T) => number },
  name: (version: number) => string,
): Mark[] {
  const marks: Mark[] = []
  let last: number | null = null
  for (const point of points) {
    const version = read.version(point)
    if (last !== null && version !== last) marks.push({ x: read.x(point), label: name(version) })
    last = version
  }
  return marks
}

/** As plain elements, since the chart looks for its parts among its own children. */
export function markLines(marks: readonly Mark[], color = 'var(--ink-faint)') {
  return marks.map((mark) => (
    <ReferenceLine
      key={`${mark.label}-${mark.x}`}
      x={mark.x}
      stroke={color}
      strokeDasharray="3 3"
      label={{ value: mark.label, position: 'top', fill: color, fontSize: 11.5 }}
    />
  ))
}

export interface Line {
  name: string
  value: string
  color?: string
}

export function tooltipOf<T>(
  describe: (point: T) => { title: string; lines: Line[] } | null,
): (props: TooltipContentProps) => React.ReactNode {
  return function ChartTooltip({ active, payload }: TooltipContentProps) {
    const point = payload?.[0]?.payload as T | undefined
    const text = active === true && point !== undefined ? describe(point) : null
    if (text === null) return null
    return (
      <div className="tabular rounded-lg border bg-raised px-2.5 py-1.5 text-tiny shadow-menu">
        <p className="font-semibold">{text.title}</p>
        {text.lines.map((line) => (
          <p key={line.name} className="flex justify-between gap-4">
            <span className="flex items-center gap-1.5 text-ink-soft">
              {line.color !== undefined && (
                <span className="size-2 rounded-full" style={{ background: line.color }} />
              )}
              {line.name}
            </span>
            {line.value}
          </p>
        ))}
      </div>
    )
  }
}
