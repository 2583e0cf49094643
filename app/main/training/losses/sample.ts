// What one sample adds to the batch loss, over the columns the engine gathers: column 0 is the reply's own token,
// columns 1…M the distillation support. w_RL·L_RL + w_OPD·L_OPD + β·k3, or w_D·L_demo; the caller's share is 1/n.
import { demonstrationLoss } from './demonstration.ts'
import { distillationLoss } from './distillation.ts'
import type { DistillationInput } from './distillation.ts'
import { divergenceLoss } from './divergence.ts'
import type { DivergenceInput } from './divergence.ts'
import { klPenalty } from './kl-penalty.ts'
import { policyGradientLoss } from './policy-gradient.ts'
import type { PolicyGradientInput } from './policy-gradient.ts'
import { at } from './surrogate.ts'
import type { ClipRange } from './surrogate.ts'

/** Everything detached that a sample's loss needs; a missing term is null. */
export interface SampleTargets {
  /** Gathered ids, sampled token first, [R, 1 + M]. */
  readonly gatherIds: Int32Array
  readonly positions: number
  readonly policy: PolicyTargets | null
  readonly distillation: DistillationTargets | null
  /** ℓ_base of the sampled tokens, [R]; null = no penalty. */
  readonly baseLogProbs: ArrayLike<number> | null
  readonly demonstration: boolean
}

export interface PolicyTargets extends Omit<PolicyGradientInput, 'logProbs' | 'clip'> {
  /** Which term the surrogate is: distillation on the sampled token alone is one as well. */
  readonly part: 'rl' | 'opd'
}

export type DistillationTargets =
  | ({ readonly form: 'surrogate' } & Omit<
      DistillationInput,
      'logProbs' | 'clip' | 'differenceClip'
    >)
  | ({ readonly form: 'divergence' } & Omit<DivergenceInput, 'logProbs'>)

export interface SampleLossSettings {
  readonly weightRl: number
  readonly weightOpd: number
  readonly weightDemo: number
  /** β of the penalty to the base. */
  readonly weightKl: number
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
    readonly kl: number | null
  }
}

/** `logProbs`: gathered ℓ_θ, [R, 1 + M]. */
export function sampleLoss(
  logProbs: Float32Array,
  targets: SampleTargets,
  settings: SampleLossSettings,
): SampleLossResult {
  const gradient = new Float32Array(logProbs.length)
  const columns = targets.gatherIds.length / targets.positions
  const stats: Record<Term['name'], number | null> = { rl: null, opd: null, demo: null, kl: null }
  let loss = 0
  for (const term of termsOf(logProbs, targets, settings)) {
    const factor = settings.share * term.weight
    stats[term.name] = term.loss
    loss += factor * term.loss
    add(gradient, term.gradient, { columns, from: term.from, width: term.width, factor })
  }
  return { loss, gradient, stats }
}

interface Term {
  readonly name: keyof SampleLossResult['stats']
  readonly weight: number
  /** The columns that its gradient is about. */
  readonly from: number
  readonly width: number
  readonly loss: number
  readonly gradient: Float32Array
}

function termsOf(
  logProbs: Float32Array,
  targets: SampleTargets,
  settings: SampleLossSettings,
): Term[] {
  const columns = targets.gatherIds.length / targets.positions
  const own = { from: 0, width: 1 }
  const sampled = slice(logProbs, { columns, ...own }) // [R]
  const terms: Term[] = []
  if (targets.policy !== null) {
    const { part: name, ...input } = targets.policy
    const weight = name === 'rl' ? settings.weightRl : settings.weightOpd
    const { clip } = settings
    terms.push({
      name,
      weight,
      ...own,
      ...policyGradientLoss({ ...input, logProbs: sampled, clip }),
    })
  }
  if (targets.distillation !== null) {
    const support = { from: 1, width: targets.distillation.width }
    const gathered = slice(logProbs, { columns, ...support }) // [R, M]
    const result = supportLoss(gathered, targets.distillation, settings)
    terms.push({ name: 'opd', weight: settings.weightOpd, ...support, ...result })
  }
  if (targets.baseLogProbs !== null && settings.weightKl > 0) {
    const result = klPenalty(sampled, targets.baseLogProbs)
    terms.push({ name: 'kl', weight: settings.weightKl, ...own, ...result })
  }
  if (targets.demonstration) {
    const result = demonstrationLoss(sampled)
    terms.push({ name: 'demo', weight: settings.weightDemo, ...own, ...result })
  }
  return terms
}

function supportLoss(
  logProbs: Float32Array,
  targets: DistillationTargets,
  { clip, differenceClip }: SampleLossSettings,
): Pick<Term, 'loss' | 'gradient'> {
  return targets.form === 'surrogate'
    ? distillationLoss({ ...targets, logProbs, clip, differenceClip })
    : divergenceLoss({ ...targets, logProbs })
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
