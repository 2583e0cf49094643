import { useMemo } from 'react'
import {
  Bar,
  BarChart,
  CartesianGrid,
  Cell,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import type { Curves } from '../../../shared/contract/app.ts'
import { formatCount } from '../../ui/format.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { ChartCard, type ChartTable } from './chart-card.tsx'
import { axisNumber, axisStyle, chartMargin, gridStyle, tooltipOf } from './chart-parts.tsx'
import { newestDifferences, type DifferenceRow } from './series.ts'

const ticks = [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]
/** Half a bin beyond the open ones. */
const domain: [number, number] = [-5.5, 5.5]

export function DifferenceChart({ steps }: { steps: Curves['steps'] }) {
  const words = useMessages().learning.charts
  const found = useMemo(() => newestDifferences(steps), [steps])
  const rows = found?.rows ?? []
  const rangeOf = ({ from, to }: DifferenceRow): string =>
    from === null
      ? words.differenceBelow(axisNumber(to ?? 0))
      : to === null
        ? words.differenceFrom(axisNumber(from))
        : words.differenceBetween(axisNumber(from), axisNumber(to))
  const table: ChartTable = {
    head: [words.difference, words.tokenCount, words.clipped],
    rows: rows.map((row) => [rangeOf(row), row.count, row.isClipped ? words.yes : words.no]),
  }
  const tip = tooltipOf<DifferenceRow>((row) => ({
    title: rangeOf(row),
    lines: [
      { name: words.tokenCount, value: formatCount(row.count) },
      { name: words.clipped, value: row.isClipped ? words.yes : words.no },
    ],
  }))
  return (
    <ChartCard
      title={words.differences}
      note={words.differencesNote}
      empty={words.differencesEmpty}
      table={table}
      file="hone-log-probability-differences.csv"
    >
      <ResponsiveContainer width="100%" height="100%">
        <BarChart data={rows} margin={chartMargin}>
          <CartesianGrid {...gridStyle} />
          <XAxis
            {...axisStyle}
            dataKey="middle"
            type="number"
            domain={domain}
            ticks={ticks}
            tickFormatter={axisNumber}
          />
          <YAxis {...axisStyle} allowDecimals={false} />
          <Tooltip content={tip} cursor={{ fill: 'var(--sunken)' }} />
          <Bar dataKey="count" maxBarSize={26} isAnimationActive={false}>
            {rows.map(({ middle, isClipped }) => (
              <Cell
                key={middle}
                fill={isClipped ? 'var(--series-3)' : 'var(--series-1)'}
                fillOpacity={0.75}
              />
            ))}
          </Bar>
          {found !== null &&
            [-found.clip, found.clip].map((bound) => (
              <ReferenceLine
                key={bound}
                x={bound}
                stroke="var(--bad)"
                strokeDasharray="3 3"
                label={{
                  value: bound < 0 ? '−C' : 'C',
                  position: 'top',
                  fill: 'var(--bad)',
                  fontSize: 11.5,
                }}
              />
            ))}
        </BarChart>
      </ResponsiveContainer>
    </ChartCard>
  )
}
