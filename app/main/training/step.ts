// The small rules of one update: its weights, its learning rate, and when it must not happen. Pure.
import type { TrainingConfig } from '../../shared/domain/training.ts'
import type { SampleLossResult, SampleLossSettings } from './losses/sample.ts'
import { lossWeights } from './methods.ts'

/** A gradient this many times the usual one is a broken batch, not a lesson. */
const explosionFactor = 100

/** `samples`: how many share the step. */
export function lossSettings(config: TrainingConfig, samples: number): SampleLossSettings {
  const { differenceClip, clipLow: low, clipHigh: high } = config
  return { ...lossWeights(config), differenceClip, clip: { low, high }, share: 1 / samples }
}

/** Constant from the first update, or half a cosine down to 0 over the planned steps; `done` in [0, 1). */
export function scheduledRate(config: TrainingConfig, done: number): number {
  const factor = config.schedule === 'cosine' ? (1 + Math.cos(Math.PI * done)) / 2 : 1
  return config.learningRate * factor
}

/** Why an update must not happen, or null. */
export function refuseStep(facts: {
  readonly loss: number
  readonly norm: number
  readonly usual: number | null
}): string | null {
  if (!Number.isFinite(facts.loss)) return `the loss is ${facts.loss}`
  if (!Number.isFinite(facts.norm)) return `the gradient norm is ${facts.norm}`
  if (facts.usual === null || facts.usual === 0) return null
  if (facts.norm <= explosionFactor * facts.usual) return null
  return `the gradient norm ${facts.norm.toPrecision(3)} is over ${explosionFactor} times the usual ${facts.usual.toPrecision(3)}`
}

/** Mean of each term over the samples that have it; null where none has. */
export function meanParts(results: readonly SampleLossResult[]): SampleLossResult['stats'] {
  const of = (name: keyof SampleLossResult['stats']) =>
    mean(results.flatMap(({ stats }) => stats[name] ?? []))
  return { rl: of('rl'), opd: of('opd'), demo: of('demo'), kl: of('kl') }
}

export function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((first, second) => first - second)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  const lower = sorted[sorted.length % 2 === 0 ? middle - 1 : middle]
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2
}
