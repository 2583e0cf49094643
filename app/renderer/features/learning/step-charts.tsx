import { useMemo } from 'react'
import {
  CartesianGrid,
  Line,
  LineChart,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import type { Curves } from '../../../shared/contract/app.ts'
import { formatNumber } from '../../ui/format.ts'
import { decimate } from '../../ui/lttb.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { ChartCard, type ChartTable } from './chart-card.tsx'
import {
  axisNumber,
  axisStyle,
  chartMargin,
  gridStyle,
  tooltipOf,
  wholeTicks,
} from './chart-parts.tsx'
import { DifferenceChart } from './difference-chart.tsx'
import { stepRows, type StepRow } from './series.ts'

interface Series {
  key: Exclude<keyof StepRow, 'index' | 'runId'>
  name: string
  color: string
}

export function StepCharts({ steps }: { steps: Curves['steps'] }) {
  const words = useMessages().learning.charts
  const rows = useMemo(() => stepRows(steps), [steps])
  const { parts } = words
  return (
    <div className="mb-8 grid gap-x-8 gap-y-6 lg:grid-cols-2">
      <StepChart
        title={words.loss}
        note={words.lossNote}
        file="hone-loss.csv"
        rows={rows}
        series={[
          { key: 'loss', name: parts.loss, color: 'var(--ink)' },
          { key: 'lossRl', name: parts.lossRl, color: 'var(--series-2)' },
          { key: 'lossOpd', name: parts.lossOpd, color: 'var(--series-1)' },
          { key: 'lossDemo', name: parts.lossDemo, color: 'var(--series-3)' },
          { key: 'lossAnchor', name: parts.lossAnchor, color: 'var(--series-4)' },
        ]}
      />
      <StepChart
        title={words.gradient}
        note={words.gradientNote}
        file="hone-gradient-norm.csv"
        rows={rows}
        series={[{ key: 'gradientNorm', name: words.gradient, color: 'var(--series-1)' }]}
      />
      <StepChart
        title={words.kl}
        note={words.klNote}
        file="hone-drift.csv"
        rows={rows}
        series={[{ key: 'lossAnchor', name: words.kl, color: 'var(--series-3)' }]}
      />
      <StepChart
        title={words.gap}
        note={words.gapNote}
        file="hone-log-probability-gap.csv"
        rows={rows}
        limits={[-0.1, 0.1]}
        series={[{ key: 'logProbGap', name: words.gap, color: 'var(--series-2)' }]}
      />
      <StepChart
        title={words.outside}
        note={words.outsideNote}
        file="hone-outside-mass.csv"
        rows={rows}
        series={[{ key: 'outsideMass', name: words.outside, color: 'var(--series-4)' }]}
      />
      <DifferenceChart steps={steps} />
    </div>
  )
}

interface StepChartProps {
  title: string
  note: string
  file: string
  rows: StepRow[]
  series: Series[]
  /** Where a step would be refused. */
  limits?: number[]
}

function StepChart({ title, note, file, rows, series, limits = [] }: StepChartProps) {
  const messages = useMessages()
  const words = messages.learning.charts
  const first = series[0]
  const present = series.filter(({ key }) => rows.some((row) => row[key] !== null))
  const drawn = useMemo(
    () =>
      first === undefined
        ? []
        : decimate(rows, { x: (row) => row.index, y: (row) => row[first.key] }),
    [rows, first?.key],
  )
  const tableOf = (some: StepRow[]): ChartTable => ({
    head: [words.stepColumn, ...series.map(({ name }) => name)],
    rows:
      present.length === 0
        ? []
        : some.map((row) => [row.index, ...series.map(({ key }) => row[key])]),
  })
  const tip = tooltipOf<StepRow>((row) => ({
    title: `${words.stepColumn} ${row.index}`,
    lines: present.map(({ key, name, color }) => ({
      name,
      color,
      value: formatNumber(row[key], 3),
    })),
  }))
  return (
    <ChartCard
      title={title}
      note={note}
      empty={words.stepsEmpty}
      table={tableOf(drawn)}
      fullTable={() => tableOf(rows)}
      file={file}
    >
      <div className="flex h-full flex-col">
        <div className="min-h-0 flex-1">
          <ResponsiveContainer width="100%" height="100%">
            <LineChart data={drawn} margin={{ ...chartMargin, left: -8 }}>
              <CartesianGrid {...gridStyle} />
              <XAxis
                {...axisStyle}
                dataKey="index"
                type="number"
                domain={[1, Math.max(2, rows.length)]}
                ticks={wholeTicks(rows.length)}
              />
              <YAxis
                {...axisStyle}
                width={56}
                domain={['auto', 'auto']}
                tickFormatter={axisNumber}
              />
              {limits.map((limit) => (
                <ReferenceLine
                  key={limit}
                  y={limit}
                  stroke="var(--bad)"
                  strokeDasharray="3 3"
                  ifOverflow="hidden"
                />
              ))}
              <Tooltip content={tip} cursor={{ stroke: 'var(--line-strong)' }} />
              {present.map(({ key, name, color }) => (
                <Line
                  key={key}
                  dataKey={key}
                  name={name}
                  stroke={color}
                  strokeWidth={1.75}
                  dot={drawn.length < 30 ? { r: 2, fill: color, strokeWidth: 0 } : false}
                  isAnimationActive={false}
                />
              ))}
            </LineChart>
          </ResponsiveContainer>
        </div>
        {present.length > 1 && <Legend series={present} />}
      </div>
    </ChartCard>
  )
}

function Legend({ series }: { series: Series[] }) {
  return (
    <ul className="flex flex-wrap gap-x-4 pt-1 text-tiny text-ink-soft">
      {series.map(({ key, name, color }) => (
        <li key={key} className="flex items-center gap-1.5">
          <span aria-hidden className="h-0.5 w-3 rounded-full" style={{ background: color }} />
          {name}
        </li>
      ))}
    </ul>
  )
}
