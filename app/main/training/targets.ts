// Scores one sample with the student (active adapter, bare prompt) and its teachers (hinted prompt, same reply, same
// temperature), and turns the numbers into everything detached that its loss needs.
import type { Overlap, TrainingConfig } from '../../shared/domain/training.ts'
import type { Adapter, EngineModel, Score, YieldPoint } from '../engine/index.ts'
import type { BatchItem } from './batch.ts'
import { at } from './losses/surrogate.ts'
import { importanceWeights, rewardAdvantages } from './losses/policy-gradient.ts'
import type { SampleTargets } from './losses/sample.ts'
import type { HintView, Support, TopTokens } from './overlap.ts'
import { buildSupport, chooseHints, outsideMass, overlapCounts, overlapRecord } from './overlap.ts'

export interface TargetOptions {
  readonly model: EngineModel
  readonly config: TrainingConfig
  /** The active adapter, before the first update. */
  readonly adapter: Adapter
  readonly yieldPoint: YieldPoint
  readonly random: () => number
}

export interface PreparedItem {
  readonly item: BatchItem
  /** Bare prompt, then reply, [T]. */
  readonly tokens: Int32Array
  readonly responseStart: number
  readonly targets: SampleTargets
  readonly overlap: Overlap | null
  readonly outsideMass: number | null
  /** Tokens that were run through the model to prepare it. */
  readonly scoredTokens: number
}

/** `trusted`: the guard has found the server's log-probabilities sound. */
export async function prepareItem(
  item: BatchItem,
  options: TargetOptions & { readonly trusted: boolean },
): Promise<PreparedItem> {
  const sequence = sequenceOf(item, item.promptIds)
  const gatherIds = Int32Array.from(item.sample.responseIds) // [R]
  const plain = { gatherIds, positions: gatherIds.length, distillation: null }
  const prepared = { item, ...sequence }
  const nothing = { overlap: null, outsideMass: null }
  if (item.demo) {
    const targets = { ...plain, policy: null, demonstration: true }
    return { ...prepared, ...nothing, targets, scoredTokens: 0 }
  }
  const { config, trusted } = options
  const request = { ...sequence, ...common(item, options) }
  const student = await options.model.score({
    ...request,
    adapter: options.adapter,
    ...(item.opd ? { topK: config.topK } : {}),
  })
  const policy = policyTargets({ item, student, config, trusted })
  const targets = { ...plain, policy, demonstration: false }
  const scoredTokens = sequence.tokens.length
  if (!item.opd) return { ...prepared, ...nothing, targets, scoredTokens }

  const { distillation, support, overlap, teacherTokens } = await distil(item, student, options)
  return {
    ...prepared,
    targets: { ...targets, distillation, gatherIds: gatherColumns(gatherIds, support) },
    overlap,
    outsideMass: outsideMass(support),
    scoredTokens: scoredTokens + teacherTokens,
  }
}

interface Distilled {
  readonly distillation: NonNullable<SampleTargets['distillation']>
  readonly support: Support
  readonly overlap: Overlap
  readonly teacherTokens: number
}

async function distil(item: BatchItem, student: Score, options: TargetOptions): Promise<Distilled> {
  const { selection, support: kind } = options.config
  const { id: sampleId, responseIds } = item.sample
  const top = topTokens(student)
  const hints = await scoreTeachers(item, { ...options, student: top })
  const overlaps = hints.map((hint) => overlapCounts(top, hint.top))
  const texts = hints.map((hint) => hint.text)
  const chosen = chooseHints({ selection, texts, overlaps, random: options.random })
  const support = buildSupport({ kind, student: top, hints, chosen })
  const { adapter, model } = options
  const score = (gatherIds: Int32Array) =>
    model.score({
      ...sequenceOf(item, item.promptIds),
      ...common(item, options),
      adapter,
      gatherIds,
    })
  const oldLogProbs = await oldAtSupport({ kind, support, top, score })
  const { width, members, teacherLogProbs } = support
  return {
    distillation: { width, oldLogProbs, teacherLogProbs, support: members },
    support,
    overlap: overlapRecord({ sampleId, responseIds, student: top, hints, chosen }),
    teacherTokens: item.hints.reduce(
      (sum, hint) => sum + hint.promptIds.length + responseIds.length,
      0,
    ),
  }
}

/** The reply after a prompt, bare or hinted. */
function sequenceOf(item: BatchItem, promptIds: readonly number[]) {
  const tokens = Int32Array.from([...promptIds, ...item.sample.responseIds]) // [T]
  return { tokens, responseStart: promptIds.length }
}

function common(item: BatchItem, options: TargetOptions) {
  return { temperature: item.temperature, yieldPoint: options.yieldPoint }
}

function policyTargets(options: {
  readonly item: BatchItem
  readonly student: Score
  readonly config: TrainingConfig
  readonly trusted: boolean
}): SampleTargets['policy'] {
  const { sample, rl } = options.item
  const { reward } = sample
  if (!rl || reward === null) return null
  const oldLogProbs = options.student.sampled
  const { negativeWeight } = options.config
  return {
    oldLogProbs,
    importance: importanceWeights(oldLogProbs, options.trusted ? sample.samplerLogProbs : null),
    advantages: rewardAdvantages({ reward, negativeWeight, oldLogProbs, mask: sample.rewardMask }),
  }
}

async function scoreTeachers(
  item: BatchItem,
  options: TargetOptions & { readonly student: TopTokens },
): Promise<HintView[]> {
  const requests = item.hints.map((hint) => ({
    ...sequenceOf(item, hint.promptIds),
    adapter: options.config.teacher === 'active' ? options.adapter : null,
    topK: options.config.topK,
    gatherIds: Int32Array.from(options.student.ids),
    ...common(item, options),
  }))
  const scores = await options.model.scoreAll(requests)
  return item.hints.flatMap(({ hintId, text }, index) => {
    const score = scores[index]
    if (score === undefined) return []
    return [{ hintId, text, top: topTokens(score), atStudent: score.gathered }]
  })
}

/** ℓ_old at the support's ids, [R, M]; another pass only where the support leaves the student's own top-K. */
async function oldAtSupport(options: {
  readonly kind: TrainingConfig['support']
  readonly support: Support
  readonly top: TopTokens
  readonly score: (gatherIds: Int32Array) => Promise<Score>
}): Promise<Float32Array> {
  const { kind, support, top } = options
  if (kind === 'teacher' || kind === 'union') return (await options.score(support.ids)).gathered
  return Float32Array.from(support.ids, (id, index) => {
    const row = Math.floor(index / support.width) * top.width
    const place = Array.from({ length: top.width }, (_, k) => row + k).find(
      (candidate) => at(top.ids, candidate) === id,
    )
    if (place === undefined)
      throw new RangeError(`token ${id} is not among the student's top tokens`)
    return at(top.logProbs, place)
  })
}

function topTokens(score: Score): TopTokens {
  const positions = score.sampled.length
  const width = score.topIds.length / positions
  return { positions, width, ids: score.topIds, logProbs: score.topLogProbs }
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
