import { useMemo } from 'react'
import {
  Bar,
  CartesianGrid,
  ComposedChart,
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
  axisStyle,
  chartMargin,
  gridStyle,
  markLines,
  marksOfChange,
  tooltipOf,
  wholeTicks,
} from './chart-parts.tsx'
import { sessionRows, type SessionRow } from './series.ts'

export interface SessionsChartProps {
  sessions: Curves['sessions']
  threeInARowAt: number | null
}

export function SessionsChart({ sessions, threeInARowAt }: SessionsChartProps) {
  const messages = useMessages()
  const words = messages.learning.charts
  const all = useMemo(() => sessionRows(sessions), [sessions])
  const drawn = useMemo(
    () => decimate(all, { x: (row) => row.session, y: (row) => row.share }),
    [all],
  )
  const changes = marksOfChange(
    all,
    { x: (row) => row.session, version: (row) => row.version },
    messages.app.version,
  )
  const tableOf = (rows: SessionRow[]): ChartTable => ({
    head: [
      words.session,
      words.firstReplies,
      words.accepted,
      words.rejected,
      words.share,
      words.versionColumn,
    ],
    rows: rows.map((row) => [
      row.session,
      row.firstReplies,
      row.accepted,
      row.rejected,
      row.share === null ? null : Math.round(row.share),
      messages.app.version(row.version),
    ]),
  })
  const tip = tooltipOf<SessionRow>((row) => ({
    title: row.title === '' ? `${words.session} ${row.session}` : row.title,
    lines: [
      {
        name: words.accepted,
        value: `${row.accepted} / ${row.firstReplies}`,
        color: 'var(--accent)',
      },
      { name: words.share, value: row.share === null ? '–' : `${formatNumber(row.share, 0)} %` },
      { name: words.versionColumn, value: messages.app.version(row.version) },
    ],
  }))
  const sameChange = changes.find((mark) => mark.x === threeInARowAt)
  const reachedLabel = [sameChange?.label, words.threeInARow].filter(Boolean).join(' · ')
  const reached = threeInARowAt === null ? [] : [{ x: threeInARowAt, label: reachedLabel }]
  return (
    <ChartCard
      title={words.sessions}
      note={words.sessionsNote}
      empty={words.sessionsEmpty}
      table={tableOf(drawn)}
      fullTable={() => tableOf(all)}
      file="hone-sessions.csv"
    >
      <ResponsiveContainer width="100%" height="100%">
        <ComposedChart data={drawn} margin={chartMargin}>
          <CartesianGrid {...gridStyle} />
          <XAxis
            {...axisStyle}
            dataKey="session"
            type="number"
            domain={[0.5, all.length + 0.5]}
            ticks={wholeTicks(all.length)}
          />
          <YAxis {...axisStyle} domain={[0, 100]} ticks={[0, 50, 100]} />
          <Tooltip content={tip} cursor={{ fill: 'var(--sunken)' }} />
          <Bar
            dataKey="share"
            fill="var(--accent)"
            fillOpacity={0.75}
            radius={[3, 3, 0, 0]}
            maxBarSize={26}
            minPointSize={2}
            isAnimationActive={false}
          />
          {markLines(changes.filter((mark) => mark.x !== threeInARowAt))}
          {markLines(reached, 'var(--good)')}
        </ComposedChart>
      </ResponsiveContainer>
    </ChartCard>
  )
}
