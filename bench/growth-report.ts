// The result of the growth bench as tables and as panels of a chart.
import type { Panel, Series } from './chart.ts'
import type { Summary } from './rounds.ts'
import { fitLine } from './statistics.ts'
import { cell, mebibytes, table, type Column } from './table.ts'

export interface GrowthPoint extends Summary {
  readonly model: string
  /** Input tokens of a sample. */
  readonly tokens: number
  readonly samples: number
  readonly together: boolean
  readonly threads: number
  readonly kernels: string | null
  readonly gflops: number
}

export interface GrowthReport {
  readonly threads: number
  readonly byLength: readonly GrowthPoint[]
  readonly bySamples: readonly GrowthPoint[]
  readonly secondSkipped: string | null
}

const mebibyte = 2 ** 20

function groupBy<Key>(
  points: readonly GrowthPoint[],
  keyOf: (point: GrowthPoint) => Key,
): [Key, GrowthPoint[]][] {
  return [...Map.groupBy(points, keyOf)]
}

export function growthPanels({ byLength, bySamples }: GrowthReport): Panel[] {
  const lengths = groupBy(byLength, ({ model }) => model)
  const counts = groupBy(bySamples, howOf)
  const speed = ({ tokensPerSecond }: GrowthPoint): number => tokensPerSecond
  const memory = ({ peakBytes }: GrowthPoint): number => peakBytes / mebibyte
  const panelOf = (
    title: string,
    [groups, x]: readonly [[string, GrowthPoint[]][], (point: GrowthPoint) => number],
    y: (point: GrowthPoint) => number,
  ): Panel => ({
    title,
    xLabel: groups === lengths ? 'length of a sample, tokens' : 'samples of 128 tokens in a step',
    yLabel: y === speed ? 'speed, tokens/s' : 'peak memory, MiB',
    series: groups.map(([name, points]): Series => ({
      name,
      points: points.map((point) => ({ x: x(point), y: y(point) })),
    })),
  })
  const byTokens = [lengths, ({ tokens }: GrowthPoint) => tokens] as const
  const byCount = [counts, ({ samples }: GrowthPoint) => samples] as const
  return [
    panelOf('Speed by length', byTokens, speed),
    panelOf('Memory by length', byTokens, memory),
    panelOf('Speed by samples', byCount, speed),
    panelOf('Memory by samples', byCount, memory),
  ]
}

function howOf({ together }: GrowthPoint): string {
  return together ? 'together' : 'one at a time'
}

export function growthText(report: GrowthReport): string {
  const { byLength, bySamples, threads, secondSkipped } = report
  const shared: Column<GrowthPoint>[] = [
    { title: 'tokens/s', align: 'right', cell: (it) => cell(it.tokensPerSecond) },
    { title: 'median', align: 'right', cell: (it) => cell(it.medianTokensPerSecond) },
    { title: 'GFLOP/s', align: 'right', cell: (it) => cell(it.gflops) },
    { title: 'peak MiB', align: 'right', cell: (it) => mebibytes(it.peakBytes) },
  ]
  const lengths = table(byLength, [
    { title: 'model', align: 'left', cell: ({ model }) => model },
    { title: 'T', align: 'right', cell: ({ tokens }) => String(tokens) },
    ...shared,
  ])
  const counts = table(bySamples, [
    { title: 'samples of 128 tokens', align: 'right', cell: ({ samples }) => String(samples) },
    { title: 'computed', align: 'left', cell: howOf },
    ...shared,
  ])
  const slopes = groupBy(byLength, ({ model }) => model)
    .filter(([, points]) => points.length > 1)
    .map(([model, points]) => slopeText(model, points))
  return [
    lengths,
    ...slopes,
    ...(secondSkipped === null ? [] : [`No second model: ${secondSkipped}.`]),
    counts,
    `${threads} threads, own kernels, response of half the tokens.`,
  ].join('\n\n')
}

/** How much memory a thousand tokens take, and how far from a straight line that is. */
function slopeText(model: string, points: readonly GrowthPoint[]): string {
  const line = fitLine(points.map(({ tokens, peakBytes }) => ({ x: tokens, y: peakBytes })))
  const off = points.map(({ tokens, peakBytes }) => peakBytes - (line.offset + line.slope * tokens))
  const largest = Math.max(...off.map(Math.abs))
  return (
    `${model}: ${cell((line.slope * 1000) / mebibyte)} MiB for each thousand tokens over ` +
    `${cell(line.offset / mebibyte)} MiB; at most ${cell(largest / mebibyte)} MiB off that line.`
  )
}
