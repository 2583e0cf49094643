// What one sample adds to the batch loss, over the columns the engine gathers: column 0 is the reply's own token,
// columns 1…M the distillation support. w_RL·L_RL + w_OPD·L_OPD, or w_D·L_demo; the caller's share is 1/n.
import { demonstrationLoss } from './demonstration.ts'
import { distillationLoss } from './distillation.ts'
import type { DistillationInput } from './distillation.ts'
import { policyGradientLoss } from './policy-gradient.ts'
import type { PolicyGradientInput } from './policy-gradient.ts'
import { at } from './surrogate.ts'
import type { ClipRange } from './surrogate.ts'

/** Everything detached that a sample's loss needs; a missing term is null. */
export interface SampleTargets {
  /** Gathered ids, sampled token first, [R, 1 + M]. */
  readonly gatherIds: Int32Array
  readonly positions: number
  readonly policy: Omit<PolicyGradientInput, 'logProbs' | 'clip'> | null
  readonly distillation: Omit<DistillationInput, 'logProbs' | 'clip' | 'differenceClip'> | null
  readonly demonstration: boolean
}

export interface SampleLossSettings {
  readonly weightRl: number
  readonly weightOpd: number
  readonly weightDemo: number
  readonly differenceClip: number
  readonly clip: ClipRange
  /** 1/n: every sample of the batch weighs the same, long or short. */
  readonly share: number
}

export interface SampleLossResult {
  /** Weighted, times `share`. */
  readonly loss: number
  /** d loss / d gathered log-probabilities, [R, 1 + M]. */
  readonly gradient: Float32Array
  /** Each term before its weight; null where the sample lacks it. */
  readonly stats: {
    readonly rl: number | null
    readonly opd: number | null
    readonly demo: number | null
  }
}

/** `logProbs`: gathered ℓ_θ, [R, 1 + M]. */
export function sampleLoss(
  logProbs: Float32Array,
  targets: SampleTargets,
  settings: SampleLossSettings,
): SampleLossResult {
  const columns = targets.gatherIds.length / targets.positions
  const gradient = new Float32Array(logProbs.length)
  const sampled = slice(logProbs, { columns, from: 0, width: 1 }) // [R]
  const terms = {
    rl: null as number | null,
    opd: null as number | null,
    demo: null as number | null,
  }
  let loss = 0
  if (targets.policy !== null) {
    const term = policyGradientLoss({ ...targets.policy, logProbs: sampled, clip: settings.clip })
    terms.rl = term.loss
    loss += settings.share * settings.weightRl * term.loss
    add(gradient, term.gradient, {
      columns,
      from: 0,
      width: 1,
      factor: settings.share * settings.weightRl,
    })
  }
  if (targets.distillation !== null) {
    const { width } = targets.distillation
    const support = slice(logProbs, { columns, from: 1, width }) // [R, M]
    const { clip, differenceClip } = settings
    const term = distillationLoss({
      ...targets.distillation,
      logProbs: support,
      clip,
      differenceClip,
    })
    terms.opd = term.loss
    loss += settings.share * settings.weightOpd * term.loss
    add(gradient, term.gradient, {
      columns,
      from: 1,
      width,
      factor: settings.share * settings.weightOpd,
    })
  }
  if (targets.demonstration) {
    const term = demonstrationLoss(sampled)
    terms.demo = term.loss
    loss += settings.share * settings.weightDemo * term.loss
    add(gradient, term.gradient, {
      columns,
      from: 0,
      width: 1,
      factor: settings.share * settings.weightDemo,
    })
  }
  return { loss, gradient, stats: terms }
}

interface Columns {
  readonly columns: number
  readonly from: number
  readonly width: number
}

function slice(values: Float32Array, range: Columns): Float32Array {
  const rows = values.length / range.columns
  const result = new Float32Array(rows * range.width)
  for (let row = 0; row < rows; row++) {
    const start = row * range.columns + range.from
    result.set(values.subarray(start, start + range.width), row * range.width)
  }
  return result
}

function add(
  target: Float32Array,
  part: Float32Array,
  range: Columns & { readonly factor: number },
): void {
  for (let index = 0; index < part.length; index++) {
    const row = Math.floor(index / range.width)
    const place = row * range.columns + range.from + (index % range.width)
    target[place] = at(target, place) + range.factor * at(part, index)
  }
}
