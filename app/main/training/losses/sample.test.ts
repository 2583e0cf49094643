import { describe, expect, it } from 'vitest'
import { finiteDifferences } from '../../../../test/support/finite-differences.ts'
import type { SampleTargets } from './sample.ts'
import { sampleLoss } from './sample.ts'

const settings = {
  weightRl: 1,
  weightOpd: 1,
  weightDemo: 1,
  weightKl: 0,
  differenceClip: 1,
  clip: { low: 0.2, high: 0.28 },
  share: 1,
}

// Two positions; column 0 is the sampled token, columns 1 and 2 the support.
const old = Float32Array.from([-1, -1, -2, -0.5, -0.5, -1.5])
const policy = {
  part: 'rl' as const,
  oldLogProbs: [-1, -0.5],
  importance: [1, 1],
  advantages: [-0.3, -0.3],
}
const distillation = {
  form: 'surrogate' as const,
  width: 2,
  oldLogProbs: [-1, -2, -0.5, -1.5],
  teacherLogProbs: [-1.5, -1.5, -0.6, -1.4],
  support: [1, 1, 1, 1],
}
const base = {
  gatherIds: Int32Array.from([5, 5, 6, 7, 7, 8]),
  positions: 2,
  baseLogProbs: null,
  demonstration: false,
}
const both: SampleTargets = { ...base, policy, distillation }

describe('loss of one sample', () => {
  it.each([
    ['rejected with a hint', both, ['rl', 'opd']],
    ['rejected or accepted without a hint', { ...both, distillation: null }, ['rl']],
    ['undecided with a hint', { ...both, policy: null }, ['opd']],
    [
      'a demonstration',
      { ...both, policy: null, distillation: null, demonstration: true },
      ['demo'],
    ],
  ])('has exactly the terms of %s', (_, targets: SampleTargets, expected) => {
    const { stats } = sampleLoss(old, targets, settings)
    const present = Object.entries(stats).filter(([, value]) => value !== null)
    expect(present.map(([name]) => name)).toEqual(expected)
  })

  it('adds the weighted terms and the share', () => {
    const weights = { ...settings, weightRl: 0.5, weightOpd: 2, share: 0.25 }
    const { loss, stats } = sampleLoss(old, both, weights)
    expect(loss).toBeCloseTo(0.25 * (0.5 * (stats.rl ?? NaN) + 2 * (stats.opd ?? NaN)), 12)
    expect(stats.rl).toBeCloseTo(0.3, 6)
  })

  it('puts each gradient into its own columns', () => {
    const point = [-1.1, -0.95, -2.05, -0.45, -0.55, -1.4]
    const weights = { ...settings, weightRl: 0.5, weightOpd: 2, share: 0.25 }
    const lossOf = (values: readonly number[]) =>
      sampleLoss(Float32Array.from(values), both, weights)
    const { gradient } = lossOf(point)
    // The argument passes through 32-bit floats, hence the wide step error.
    const numeric = point.map((_, index) => {
      const moved = (by: number) =>
        lossOf(point.map((value, i) => (i === index ? value + by : value))).loss
      return (moved(1e-2) - moved(-1e-2)) / 2e-2
    })
    numeric.forEach((value, index) => expect(gradient[index]).toBeCloseTo(value, 4))
  })

  it('adds the penalty to the base with its weight, and not without one', () => {
    const penalised = { ...both, baseLogProbs: [-2, -0.25] }
    const weights = { ...settings, weightKl: 0.5, share: 0.25 }
    const plain = sampleLoss(old, both, weights)
    const { loss, gradient, stats } = sampleLoss(old, penalised, weights)
    const [rise, fall] = [Math.exp(-1) + 1 - 1, Math.exp(0.25) - 0.25 - 1]
    expect(stats.kl).toBeCloseTo((rise + fall) / 2, 6)
    expect(loss - plain.loss).toBeCloseTo((0.25 * 0.5 * (rise + fall)) / 2, 6)
    expect((gradient[0] ?? NaN) - (plain.gradient[0] ?? NaN)).toBeCloseTo(
      (0.125 * (1 - Math.exp(-1))) / 2,
      6,
    )
    expect(sampleLoss(old, penalised, settings).stats.kl).toBeNull()
  })

  it('counts a surrogate of hints on the sampled token as distillation', () => {
    const targets = { ...both, policy: { ...policy, part: 'opd' as const }, distillation: null }
    const { loss, stats } = sampleLoss(old, targets, { ...settings, weightRl: 0, weightOpd: 2 })
    expect(stats).toMatchObject({ rl: null, opd: expect.closeTo(0.3, 6) })
    expect(loss).toBeCloseTo(0.6, 6)
  })

  it('gives a demonstration the plain mean of its tokens, whatever the old probabilities', () => {
    const targets = { ...base, policy: null, distillation: null, demonstration: true }
    const { loss, gradient } = sampleLoss(old, targets, settings)
    expect(loss).toBeCloseTo(0.75, 12)
    expect([...gradient]).toEqual([-0.5, 0, 0, -0.5, 0, 0])
    const alone = { ...targets, gatherIds: Int32Array.from([5, 7]) }
    const numeric = finiteDifferences(
      (values) => sampleLoss(Float32Array.from(values), alone, settings).loss,
      [-1, -0.5],
    )
    numeric.forEach((value) => expect(value).toBeCloseTo(-0.5, 2))
  })
})
