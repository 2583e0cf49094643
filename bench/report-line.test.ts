import { expect, test } from 'vitest'
import { lastLine, parseReport, productReport, stepReport } from './report-line.ts'

const report = {
  ...{ seconds: [0.5, 0.4], loadedBytes: 1e9, peakBytes: 2e9, loss: 13.1, gradientNorm: 2.7 },
}

test('the line is found between warnings and progress bars', () => {
  const output = `Loading: 100%\n${JSON.stringify(report)}\nFutureWarning: soon\n`
  expect(parseReport(output, stepReport)).toEqual(report)
})

test('an output without a line is refused with its last words', () => {
  const output =
    'Traceback (most recent call last):\nModuleNotFoundError: No module named torch\n\n'
  expect(() => parseReport(output, stepReport)).toThrow(/no result: ModuleNotFoundError: No module/)
})

test('a line that lacks a value, or has NaN for one, is refused by name', () => {
  const { peakBytes: _, ...incomplete } = report
  expect(() => parseReport(JSON.stringify(incomplete), stepReport)).toThrow(/“peakBytes”/)
  const line = JSON.stringify(report).replace('13.1', 'NaN')
  expect(() => parseReport(line, stepReport)).toThrow(/not JSON/)
  expect(() => parseReport(JSON.stringify({ ...report, seconds: [] }), stepReport)).toThrow(
    /“seconds”/,
  )
})

test('rates of products carry their shape', () => {
  const line = '{"rates": [{"shape": [3072, 576], "type": "bf16", "gflops": 812.5}]}'
  expect(parseReport(line, productReport).rates[0]?.shape).toEqual([3072, 576])
  expect(parseReport(line, productReport).skipped).toEqual([])
})

test('the last line is the last with something on it', () => {
  expect(lastLine('a\n  b  \n\n')).toBe('b')
  expect(lastLine('')).toBe('no output')
})
