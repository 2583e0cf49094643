import { useMemo } from 'react'
import {
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceLine,
  ResponsiveContainer,
  Scatter,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import type { Curves } from '../../../shared/contract/app.ts'
import { formatNumber, formatWhen } from '../../ui/format.ts'
import { decimate } from '../../ui/lttb.ts'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { RewardGlyph, type RewardLook } from '../../ui/reward-mark.tsx'
import { ChartCard, type ChartTable } from './chart-card.tsx'
import {
  axisStyle,
  chartMargin,
  gridStyle,
  markLines,
  marksOfChange,
  tooltipOf,
  wholeTicks,
} from './chart-parts.tsx'
import { decidedRewards, type RewardRow } from './series.ts'

export function RewardChart({ rewards }: { rewards: Curves['rewards'] }) {
  const messages = useMessages()
  const language = useLanguage()
  const words = messages.learning.charts
  const all = useMemo(() => decidedRewards(rewards), [rewards])
  const drawn = useMemo(
    () => decimate(all, { x: (row) => row.reply, y: (row) => row.rolling ?? row.value }),
    [all],
  )
  const marks = marksOfChange(
    all,
    { x: (row) => row.reply, version: (row) => row.version },
    messages.app.version,
  )
  const undecided = rewards.length - all.length
  const tableOf = (rows: RewardRow[]): ChartTable => ({
    head: [words.reply, words.value, words.rolling, words.versionColumn],
    rows: rows.map((row) => [row.reply, row.value, row.rolling, messages.app.version(row.version)]),
  })
  const tip = tooltipOf<RewardRow>((row) => ({
    title: `${words.reply} ${row.reply} · ${messages.app.version(row.version)}`,
    lines: [
      { name: words.value, value: formatNumber(row.value, 0) },
      { name: words.rolling, value: formatNumber(row.rolling), color: 'var(--accent)' },
      { name: formatWhen(row.at, language), value: '' },
    ],
  }))
  return (
    <ChartCard
      title={words.reward}
      note={
        undecided === 0 ? words.rewardNote : `${words.rewardNote} ${words.undecided(undecided)}.`
      }
      empty={words.rewardEmpty}
      table={tableOf(drawn)}
      fullTable={() => tableOf(all)}
      file="hone-rewards.csv"
    >
      <ResponsiveContainer width="100%" height="100%">
        <ComposedChart data={drawn} margin={chartMargin}>
          <CartesianGrid {...gridStyle} />
          <XAxis
            {...axisStyle}
            dataKey="reply"
            type="number"
            domain={[0.5, all.length + 0.5]}
            ticks={wholeTicks(all.length)}
          />
          <YAxis
            {...axisStyle}
            domain={[-1.15, 1.15]}
            ticks={[-1, 0, 1]}
            tickFormatter={(value: number) => (value > 0 ? '+1' : formatNumber(value, 0))}
          />
          <ReferenceLine y={0} stroke="var(--line-strong)" />
          {markLines(marks)}
          <Tooltip content={tip} cursor={{ stroke: 'var(--line-strong)' }} />
          <Scatter dataKey="value" shape={glyph} isAnimationActive={false} />
          {/* A line of one point would be a dot that hides the mark. */}
          {drawn.length > 1 && (
            <Line
              dataKey="rolling"
              stroke="var(--accent)"
              strokeWidth={2}
              dot={false}
              activeDot={{ r: 3 }}
              connectNulls
              isAnimationActive={false}
            />
          )}
        </ComposedChart>
      </ResponsiveContainer>
    </ChartCard>
  )
}

interface GlyphProps {
  cx?: number | undefined
  cy?: number | undefined
  payload?: RewardRow
}

const looks: readonly RewardLook[] = ['bad', 'flat', 'good']

function glyph({ cx, cy, payload }: GlyphProps) {
  const look = payload === undefined ? undefined : looks[payload.value + 1]
  if (cx === undefined || cy === undefined || look === undefined) return <g />
  return <RewardGlyph look={look} x={cx} y={cy} size={8} />
}
