// Turns scores into everything detached that one sample's loss needs, by the run's method: advantages of the sampled
// tokens, distillation over a support, the base's log-probabilities, what the value head should have said.
import type { Overlap, TrainingConfig } from '../../shared/domain/training.ts'
import type { Score } from '../engine/index.ts'
import type { BatchItem } from './batch.ts'
import { sawBarePrompt } from './batch.ts'
import { differencesOf } from './differences.ts'
import { estimateAdvantages } from './losses/gae.ts'
import {
  importanceWeights,
  leaveOut,
  rewardAdvantages,
  teacherAdvantages,
} from './losses/policy-gradient.ts'
import type { DistillationTargets, PolicyTargets, SampleTargets } from './losses/sample.ts'
import { at } from './losses/surrogate.ts'
import { looksAtSampledTokens, ppo } from './methods.ts'
import type { Support } from './overlap.ts'
import { outsideMass } from './overlap.ts'
import { sequenceOf } from './students.ts'
import type { Taught, TeacherOptions } from './teachers.ts'
import { teach } from './teachers.ts'
import type { ValueExample, ValueHead } from './value-head.ts'

export interface TargetOptions extends TeacherOptions {
  /** The base's scores of the same reply; null where no penalty asks for them. */
  readonly base: Score | null
  /** The guard has found the server's log-probabilities sound. */
  readonly trusted: boolean
  readonly valueHead: ValueHead
}

export interface PreparedItem {
  readonly item: BatchItem
  /** Bare prompt, then reply, [T]. */
  readonly tokens: Int32Array
  readonly responseStart: number
  readonly targets: SampleTargets
  readonly overlap: Overlap | null
  readonly outsideMass: number | null
  /** ℓ_T − ℓ_old over its support, before the clip; null without distillation. */
  readonly differences: readonly number[] | null
  /** What the value head learns from it; null without one. */
  readonly value: ValueExample | null
  /** Tokens that were run through the model to prepare it, beyond the student's and the base's. */
  readonly scoredTokens: number
}

export function prepareDemonstration(item: BatchItem): PreparedItem {
  const gatherIds = Int32Array.from(item.sample.responseIds) // [R]
  const none = { policy: null, distillation: null, baseLogProbs: null }
  return {
    item,
    ...sequenceOf(item, item.promptIds),
    targets: { gatherIds, positions: gatherIds.length, ...none, demonstration: true },
    overlap: null,
    outsideMass: null,
    differences: null,
    value: null,
    scoredTokens: 0,
  }
}

export async function prepareTurn(item: BatchItem, options: TargetOptions): Promise<PreparedItem> {
  const { config } = options
  const sequence = sequenceOf(item, item.promptIds)
  const sampledIds = Int32Array.from(item.sample.responseIds) // [R]
  const taught = item.opd ? await teach(item, options) : null
  const estimate = config.method === 'ppo-gae' ? await estimateOf(item, options) : null
  const rewards = estimate?.advantages ?? rewardsOf(item, options)
  const distillation = taught === null ? null : distillationOf(item, taught, config)
  const gatherIds =
    taught === null || distillation === null
      ? sampledIds
      : gatherColumns(sampledIds, taught.support)
  return {
    item,
    ...sequence,
    targets: {
      gatherIds,
      positions: sampledIds.length,
      policy: policyOf(item, { ...options, rewards, taught }),
      distillation,
      baseLogProbs: options.base?.sampled ?? null,
      demonstration: false,
    },
    overlap: taught?.overlap ?? null,
    outsideMass: taught === null ? null : outsideMass(taught.support),
    differences: taught === null ? null : differencesOf(taught.support, taught.oldLogProbs),
    value: estimate?.value ?? null,
    scoredTokens: (taught?.tokens ?? 0) + (estimate === null ? 0 : sequence.tokens.length),
  }
}

/** A_t of the reward as it is; null without a reward term. */
function rewardsOf({ sample, rl }: BatchItem, options: TargetOptions): Float32Array | null {
  const { reward, rewardMask: mask } = sample
  if (!rl || reward === null) return null
  const { negativeWeight } = options.config
  return rewardAdvantages({ reward, negativeWeight, oldLogProbs: options.student.sampled, mask })
}

/** The reward spread over the reply by the value head; null without a reward term. */
async function estimateOf(
  item: BatchItem,
  options: TargetOptions,
): Promise<{ readonly advantages: Float32Array; readonly value: ValueExample } | null> {
  const { reward, rewardMask: mask } = item.sample
  if (!item.rl || reward === null) return null
  const { model, adapter, yieldPoint, valueHead, config, student } = options
  const { temperature } = item
  const sequence = sequenceOf(item, item.promptIds)
  const hidden = await model.hidden({ ...sequence, temperature, adapter, yieldPoint }) // [R, C]
  const { advantages, returns } = estimateAdvantages({
    reward: reward === 1 ? 1 : -config.negativeWeight,
    values: valueHead.values(hidden),
    discount: ppo.discount,
    trace: ppo.trace,
  })
  const oldLogProbs = student.sampled
  return { advantages: leaveOut(advantages, { oldLogProbs, mask }), value: { hidden, returns } }
}

/** The surrogate on the sampled tokens, or null where the method has none for this sample. */
function policyOf(
  item: BatchItem,
  options: TargetOptions & {
    readonly rewards: Float32Array | null
    readonly taught: Taught | null
  },
): PolicyTargets | null {
  const { config, rewards, taught } = options
  const oldLogProbs = options.student.sampled
  const isRatio = options.trusted && sawBarePrompt(item.sample)
  const importance = importanceWeights(oldLogProbs, isRatio ? item.sample.samplerLogProbs : null)
  const pull =
    taught === null || !looksAtSampledTokens(config)
      ? null
      : teacherAdvantages({
          teacherLogProbs: taught.support.teacherLogProbs,
          oldLogProbs,
          differenceClip: config.differenceClip,
        })
  if (config.method === 'opd-token') {
    // As with a support of several tokens, distillation has no importance.
    const ones = importanceWeights(oldLogProbs, null)
    return pull && { part: 'opd', oldLogProbs, importance: ones, advantages: pull }
  }
  if (rewards === null && pull === null) return null
  const advantages = config.method === 'combined' ? combined({ rewards, pull, config }) : rewards
  return advantages && { part: 'rl', oldLogProbs, importance, advantages }
}

/** A_t = w_RL·r + w_OPD·(ℓ_T − ℓ_old within ±C); what a sample lacks counts as 0. */
function combined(parts: {
  readonly rewards: Float32Array | null
  readonly pull: Float32Array | null
  readonly config: TrainingConfig
}): Float32Array {
  const { rewards, pull } = parts
  const { weightRl, weightOpd } = parts.config
  return Float32Array.from({ length: (rewards ?? pull ?? []).length }, (_, t) => {
    const reward = rewards === null ? 0 : weightRl * at(rewards, t)
    return reward + (pull === null ? 0 : weightOpd * at(pull, t))
  })
}

/** Null for methods on the sampled token alone: theirs is in the surrogate. */
function distillationOf(
  item: BatchItem,
  { support, oldLogProbs }: Taught,
  config: TrainingConfig,
): DistillationTargets | null {
  if (looksAtSampledTokens(config)) return null
  const { width, members, teacherLogProbs } = support
  const common = { width, teacherLogProbs, support: members }
  return config.method === 'ppo-gae'
    ? { form: 'divergence', ...common, scale: item.temperature / ppo.temperature }
    : { form: 'surrogate', ...common, oldLogProbs }
}

/** Sampled id, then the support, per position, [R, 1 + M]. */
function gatherColumns(sampledIds: Int32Array, support: Support): Int32Array {
  const columns = 1 + support.width
  const ids = new Int32Array(sampledIds.length * columns)
  sampledIds.forEach((id, t) => {
    ids[t * columns] = id
    ids.set(support.ids.subarray(t * support.width, (t + 1) * support.width), t * columns + 1)
  })
  return ids
}
