import { expect, test } from 'vitest'
import { drawChart, ticksUpTo, type Panel } from './chart.ts'

const panel: Panel = {
  title: 'Speed & size',
  xLabel: 'input tokens',
  yLabel: 'tokens/s',
  series: [
    {
      name: '135M',
      points: [
        { x: 256, y: 400 },
        { x: 512, y: 200 },
      ],
    },
    {
      name: '<0.5B>',
      points: [
        { x: 256, y: 100 },
        { x: 512, y: 50 },
      ],
    },
  ],
}

test('ticks are few, round, start at zero and reach the largest value', () => {
  expect(ticksUpTo(4096)).toEqual([0, 1000, 2000, 3000, 4000, 5000])
  expect(ticksUpTo(8)).toEqual([0, 2, 4, 6, 8])
  for (const largest of [1, 3.7, 12, 99.9, 563, 1024, 2.4e6]) {
    const ticks = ticksUpTo(largest)
    expect(ticks.length).toBeGreaterThan(3)
    expect(ticks.length).toBeLessThan(9)
    expect(ticks[0]).toBe(0)
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(largest)
  }
  expect(ticksUpTo(0)).toEqual([0, 1])
})

test('a point twice as high is drawn twice as far from the axis', () => {
  const [, first = '', second = ''] =
    [...drawChart('c', [panel]).matchAll(/<path class="s0" d="(M[^"h]+)"/g)][0]?.[1]?.match(
      /^M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)$/,
    ) ?? []
  const zero = 300 - 52
  expect(zero - Number(first)).toBeCloseTo(2 * (zero - Number(second)), 0)
})

test('labels with their units are in the picture, signs of markup escaped', () => {
  const svg = drawChart('Growth', [panel, panel, panel])
  expect(svg).toContain('viewBox="0 0 800 600"')
  expect(svg).toContain('>input tokens</text>')
  expect(svg).toContain('>tokens/s</text>')
  expect(svg).toContain('Speed &#38; size')
  expect(svg).not.toContain('<0.5B>')
  expect(svg).toContain('prefers-color-scheme: dark')
})

test('a single series needs no legend', () => {
  const [first] = panel.series
  const alone = drawChart('c', [{ ...panel, series: first === undefined ? [] : [first] }])
  expect(alone).not.toContain('>135M</text>')
  expect(drawChart('c', [panel])).toContain('>135M</text>')
})
