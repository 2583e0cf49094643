// Line charts as SVG, several panels in one picture: no script, no font files, colours for light and dark pages.

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

export interface Panel {
  readonly title: string
  /** What the axes show, with the unit. */
  readonly xLabel: string
  readonly yLabel: string
  readonly series: readonly Series[]
}

const panel = { width: 400, height: 300, columns: 2 } as const

/** Room around the drawing area for the labels; at the top for the title and a legend of two lines. */
const margin = { left: 62, right: 22, top: 78, bottom: 52 } as const

const plot = {
  width: panel.width - margin.left - margin.right,
  height: panel.height - margin.top - margin.bottom,
} as const

const maxSeries = 2

const style = `
.page { fill: #ffffff }
text { fill: #1f2328; font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif }
.title { font-size: 14px; font-weight: 600 }
.quiet { fill: #59636e }
.grid { stroke: #d8dee4 }
.axis { stroke: #818b98 }
path { fill: none; stroke-width: 2 }
.s0 { stroke: #0969da } .f0 { fill: #0969da }
.s1 { stroke: #bc4c00; stroke-dasharray: 6 3 } .f1 { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 }
text { fill: #e6edf3 }
.quiet { fill: #9da7b1 }
.grid { stroke: #2d333b }
.axis { stroke: #6e7681 }
.s0 { stroke: #58a6ff } .f0 { fill: #58a6ff }
.s1 { stroke: #f0883e } .f1 { fill: #f0883e }
}`

/** `title` is what a screen reader says of the picture. */
export function drawChart(title: string, panels: readonly Panel[]): string {
  const columns = Math.min(panel.columns, panels.length)
  const width = columns * panel.width
  const height = Math.ceil(panels.length / columns) * panel.height
  const drawn = panels.map((one, index) => {
    const [x, y] = [(index % columns) * panel.width, Math.floor(index / columns) * panel.height]
    return `<g transform="translate(${x} ${y})">\n${drawPanel(one)}\n</g>`
  })
  return drawPicture({ title, width, height, style, drawn })
}

export interface Picture {
  /** What a screen reader says of it. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly style: string
  readonly drawn: readonly string[]
}

/** The frame of every chart: a page of its own colour, `page` in `style`, under what is drawn. */
export function drawPicture({ title, width, height, style, drawn }: Picture): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">`,
    `<style>${style}\n</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

interface Scale {
  readonly ticks: readonly number[]
  readonly place: (value: number) => number
}

function drawPanel({ title, xLabel, yLabel, series }: Panel): string {
  if (series.length > maxSeries) throw new Error(`${series.length} series in one panel`)
  const points = series.flatMap((one) => one.points)
  const x = scaleOf(
    points.map((point) => point.x),
    [margin.left, margin.left + plot.width],
  )
  const y = scaleOf(
    points.map((point) => point.y),
    [margin.top + plot.height, margin.top],
  )
  const middle = margin.top + plot.height / 2
  return [
    text({ x: margin.left, y: 24 }, title, 'class="title"'),
    ...legend(series),
    ...axes(x, y),
    ...series.map((one, index) => drawSeries(one, { index, x, y })),
    text({ x: margin.left + plot.width / 2, y: panel.height - 12 }, xLabel, 'text-anchor="middle"'),
    text({ x: 16, y: middle }, yLabel, `text-anchor="middle" transform="rotate(-90 16 ${middle})"`),
  ].join('\n')
}

/** Both axes start at zero, so that twice as high is twice as much. */
function scaleOf(values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const ticks = ticksUpTo(Math.max(...values))
  const end = ticks.at(-1) ?? 1
  return { ticks, place: (value) => round(from + ((to - from) * value) / end) }
}

/** Round numbers from 0 to at least `largest`, four to seven of them. */
export function ticksUpTo(largest: number): number[] {
  if (!(largest > 0) || !Number.isFinite(largest)) return [0, 1]
  const power = 10 ** Math.floor(Math.log10(largest))
  const steps = [0.1, 0.2, 0.25, 0.5, 1, 2].map((factor) => factor * power)
  const step = steps.find((size) => largest / size <= 6) ?? power
  const count = Math.ceil(largest / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

function axes(x: Scale, y: Scale): string[] {
  const [left, right] = [margin.left, margin.left + plot.width]
  const [top, bottom] = [margin.top, margin.top + plot.height]
  return [
    ...y.ticks.flatMap((tick) => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${y.place(tick)}" y2="${y.place(tick)}"/>`,
      text({ x: left - 8, y: y.place(tick) + 4 }, String(tick), 'class="quiet" text-anchor="end"'),
    ]),
    ...x.ticks.map((tick) =>
      text(
        { x: x.place(tick), y: bottom + 18 },
        String(tick),
        'class="quiet" text-anchor="middle"',
      ),
    ),
    `<path class="axis" style="stroke-width: 1" d="M${left} ${top}V${bottom}H${right}"/>`,
  ]
}

function legend(series: readonly Series[]): string[] {
  if (series.length < 2) return []
  return series.flatMap(({ name }, index) => {
    const y = 41 + 18 * index
    return [
      `<path class="s${index}" d="M${margin.left} ${y}h22"/>`,
      marker(index, { x: margin.left + 11, y }),
      text({ x: margin.left + 30, y: y + 4 }, name, 'class="quiet"'),
    ]
  })
}

function drawSeries(
  { name, points }: Series,
  at: { readonly index: number; readonly x: Scale; readonly y: Scale },
): string {
  const placed = points.map((point) => ({ x: at.x.place(point.x), y: at.y.place(point.y) }))
  const path = placed.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('')
  const markers = placed.map((point) => marker(at.index, point)).join('')
  return `<g><title>${escapeText(name)}</title><path class="s${at.index}" d="${path}"/>${markers}</g>`
}

/** Series differ in form too, for those who do not see colours. */
function marker(index: number, { x, y }: Point): string {
  const shape = `class="f${index}"`
  if (index % 2 === 0) return `<circle ${shape} cx="${x}" cy="${y}" r="4"/>`
  return `<rect ${shape} x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`
}

function text({ x, y }: Point, content: string, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escapeText(content)}</text>`
}

export function escapeText(content: string): string {
  return content.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
