// The charts of docs/learning.md: sessions to target as bars with each seed, nearness to the wish as lines.
import { drawChart, drawPicture, escapeText, type Panel } from '../bench/chart.ts'
import { meanSessions, type Group } from './aggregate.ts'

const width = 820
const nameWidth = 230
const rowHeight = 24
const titleHeight = 44
const barHeight = 12

const style = `
.page { fill: #ffffff }
text { fill: #1f2328; font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif }
.title { font-size: 14px; font-weight: 600 }
.quiet { fill: #59636e }
.grid { stroke: #d8dee4 }
.bar { fill: #0969da } .open { fill: #b6bfc9 } .seed { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 }
text { fill: #e6edf3 }
.quiet { fill: #9da7b1 }
.grid { stroke: #2d333b }
.bar { fill: #58a6ff } .open { fill: #4b535d } .seed { fill: #e6edf3 }
}`

/** Bars of mean sessions to target, a panel for each persona and setting; grey where no seed got there. */
export function sessionsChart(groups: readonly Group[]): string {
  const panels = [...Map.groupBy(groups, ({ persona, setting }) => `${persona}, ${setting}`)]
  const cap = Math.max(1, ...groups.map((group) => group.cap))
  let top = 0
  const drawn = panels.map(([title, of]) => {
    const part = barPanel({ title, groups: of, cap, top })
    top += titleHeight + of.length * rowHeight + 16
    return part
  })
  return drawPicture({
    ...{ title: 'Sessions to target by method', width, height: top + 20 },
    ...{ style, drawn },
  })
}

interface BarPanel {
  readonly title: string
  readonly groups: readonly Group[]
  readonly cap: number
  readonly top: number
}

function barPanel({ title, groups, cap, top }: BarPanel): string {
  const scale = (sessions: number): number =>
    Math.round(nameWidth + (sessions / cap) * (width - nameWidth - 60))
  const bottom = top + titleHeight + groups.length * rowHeight
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * cap))
  return [
    `<text class="title" x="16" y="${top + 26}">${escapeText(title)}: sessions to target</text>`,
    ...ticks.map(
      (tick) =>
        `<line class="grid" x1="${scale(tick)}" x2="${scale(tick)}" y1="${top + titleHeight - 6}" y2="${bottom}"/><text class="quiet" x="${scale(tick)}" y="${bottom + 12}" text-anchor="middle">${tick}</text>`,
    ),
    ...groups.map((group, index) => {
      const y = top + titleHeight + index * rowHeight + rowHeight / 2
      return bar(group, { y, scale })
    }),
  ].join('\n')
}

function bar(
  group: Group,
  { y, scale }: { readonly y: number; readonly scale: (sessions: number) => number },
): string {
  const sessions = meanSessions(group)
  const hasArrived = group.rows.some(({ reached }) => reached)
  const dots = group.rows.map(
    (row) => `<circle class="seed" cx="${scale(row.sessionsToTarget)}" cy="${y}" r="3"/>`,
  )
  return [
    `<text x="${nameWidth - 10}" y="${y + 4}" text-anchor="end">${escapeText(group.method)}</text>`,
    `<rect class="${hasArrived ? 'bar' : 'open'}" x="${nameWidth}" y="${y - barHeight / 2}" width="${scale(sessions) - nameWidth}" height="${barHeight}"/>`,
    ...dots,
    `<text class="quiet" x="${scale(sessions) + 10}" y="${y + 4}">${hasArrived ? sessions.toFixed(1) : 'not reached'}</text>`,
  ].join('\n')
}

/** Nearness to the wish over the user's messages: the first group of the two methods, first seed, a panel a persona. */
export function preferenceChart(
  groups: readonly Group[],
  methods: readonly [string, string],
): string | null {
  const panels = [...Map.groupBy(groups, ({ persona }) => persona)].flatMap(([persona, of]) => {
    const series = methods.flatMap((method) => {
      const row = of.find((group) => group.method === method)?.rows[0]
      if (row === undefined) return []
      const points = row.preference.map(({ interactions, score }) => ({
        x: interactions,
        y: score,
      }))
      return [{ name: method, points }]
    })
    const panel: Panel = {
      title: persona,
      xLabel: 'messages of the user',
      yLabel: 'nearness to the wish, 0–1',
      series,
    }
    return series.length === 0 ? [] : [panel]
  })
  return panels.length === 0
    ? null
    : drawChart('Nearness of first replies to the wish over the messages of the user', panels)
}
