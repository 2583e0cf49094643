import { decimate } from './lttb.ts'

export interface SparklineProps {
  values: readonly number[]
  low: number
  high: number
  label: string
}

const width = 240
const height = 44
const pad = 4
const mostDrawn = 120

export function Sparkline({ values, low, high, label }: SparklineProps) {
  const points = decimate(
    values.map((value, index) => ({ value, index })),
    { x: (point) => point.index, y: (point) => point.value },
    mostDrawn,
  )
  const lastIndex = Math.max(1, values.length - 1)
  const x = (index: number): number => pad + (index / lastIndex) * (width - 2 * pad)
  const y = (value: number): number => pad + ((high - value) / (high - low)) * (height - 2 * pad)
  const last = points.at(-1)
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} className="w-full">
      <line
        x1={0}
        x2={width}
        y1={y(0)}
        y2={y(0)}
        stroke="var(--line-strong)"
        strokeDasharray="2 4"
      />
      <polyline
        points={points.map((point) => `${x(point.index)},${y(point.value)}`).join(' ')}
        fill="none"
        stroke="var(--accent)"
        strokeWidth={1.75}
        strokeLinejoin="round"
      />
      {last !== undefined && (
        <circle cx={x(last.index)} cy={y(last.value)} r={3} fill="var(--accent)" />
      )}
    </svg>
  )
}
