import { expect, test } from 'vitest'
import type { Summary } from './rounds.ts'
import { trainCase, trainText, type Program, type TrainReport } from './train-report.ts'
import { checkSameWork } from './train.ts'

const summary = (tokensPerSecond: number, peakBytes: number): Summary => ({
  ...{ tokensPerSecond, medianTokensPerSecond: tokensPerSecond / 2, peakBytes },
  ...{ loadedBytes: peakBytes / 2, loss: 13, gradientNorm: 2 },
})

const programs: Record<Program, Summary | null> = {
  torchF32: summary(200, 3 * 2 ** 30),
  torchBf16: summary(400, 2 * 2 ** 30),
  honeF32: summary(300, 2 ** 30),
  honeNative: summary(800, 2 ** 30),
}
const result = { tokens: 512, threads: 2, operations: 512e9, programs, peersSkipped: null }
const report: TrainReport & { kernelsReason: string | null } = {
  ...{ results: [result], kernels: 'AVX512', kernelsReason: null, rounds: 3, steps: 5 },
  productRates: { torchF32: 400, torchBf16: 1000, honeF32: 500, honeNative: 1600 },
}

test('the case has the agreed form, with ratios of speed and memory', () => {
  const found = trainCase(result, report)
  expect(found).toMatchObject({
    ...{ T: 512, response: 256, threads: 2 },
    ours: { tokensPerSecond: 800, peakBytes: 2 ** 30, gflops: 800, ofProducts: 0.5 },
    peers: { torchF32: { tokensPerSecond: 200, gflops: 200, ofProducts: 0.5 } },
    ratio: { torchF32: 4, torchBf16: 2 },
    memoryRatio: { torchF32: 1 / 3, torchBf16: 0.5 },
  })
  expect(found).not.toHaveProperty('peersSkipped')
})

test('without the peer its columns are empty and the reason is told', () => {
  const alone = {
    ...result,
    programs: { ...programs, torchF32: null, torchBf16: null },
    peersSkipped: 'no python',
  }
  expect(trainCase(alone, report)).toMatchObject({
    peers: { torchF32: null, torchBf16: null },
    ratio: { torchF32: null, torchBf16: null },
    peersSkipped: 'no python',
  })
  const text = trainText({ ...report, results: [alone] })
  expect(text).toContain('T 512, PyTorch is missing: no python.')
  expect(text).toMatch(/PyTorch \+ PEFT, f32 +\| +– \| +–/)
})

test('a line of the table shows speed, ratios, share of the products and memory', () => {
  const line = trainText(report)
    .split('\n')
    .find((text) => text.includes('own kernels'))
  const cells = line?.split('|').map((text) => text.trim())
  expect(cells?.slice(1, -1)).toEqual([
    ...['512', 'Hone, own kernels (AVX512)', '800', '400', '4.00', '2.00'],
    ...['800', '50 %', '1024', '0.33', '0.50'],
  ])
})

test('programs that computed different things are not compared', () => {
  expect(() => checkSameWork(512, programs)).not.toThrow()
  const wrong = { ...summary(200, 1), gradientNorm: 2.01 }
  expect(() => checkSameWork(512, { ...programs, torchF32: wrong })).toThrow(/torchF32 .*2\.01/)
  const rounded = { ...summary(200, 1), gradientNorm: 2.1, loss: 13.05 }
  expect(() => checkSameWork(512, { ...programs, torchBf16: rounded })).not.toThrow()
  const broken = { ...summary(800, 1), loss: 15 }
  expect(() => checkSameWork(512, { ...programs, honeNative: broken })).toThrow(/honeNative/)
})
