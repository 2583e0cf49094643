// The teachers of one turn: each hinted prompt scores the same reply at the same temperature, the overlap of likely
// tokens chooses among them, and what distillation looks at is laid out per position.
import type { Overlap, TrainingConfig } from '../../shared/domain/training.ts'
import type { Score } from '../engine/index.ts'
import type { BatchItem } from './batch.ts'
import { at } from './losses/surrogate.ts'
import { looksAtSampledTokens } from './methods.ts'
import type { HintView, Support, TopTokens } from './overlap.ts'
import { buildSupport, chooseHints, overlapCounts, overlapRecord } from './overlap.ts'
import type { StudentOptions } from './students.ts'
import { sequenceOf } from './students.ts'

export interface TeacherOptions extends StudentOptions {
  /** Scores of the old student with its likeliest tokens. */
  readonly student: Score
  readonly random: () => number
}

export interface Taught {
  /** Tokens and the chosen teacher's log-probabilities; one column, the sampled token, for methods on that alone. */
  readonly support: Support
  /** ℓ_old at the support's ids, [R, M]. */
  readonly oldLogProbs: Float32Array
  readonly overlap: Overlap
  /** Tokens that were run through the model for it. */
  readonly tokens: number
}

interface TeacherView extends HintView {
  /** ℓ_T of the sampled tokens, [R]. */
  readonly sampled: Float32Array
}

export async function teach(item: BatchItem, options: TeacherOptions): Promise<Taught> {
  const { config, student } = options
  const { id: sampleId, responseIds } = item.sample
  const top = topTokens(student)
  const hints = await scoreTeachers(item, { ...options, top })
  const overlaps = hints.map((hint) => overlapCounts(top, hint.top))
  const texts = hints.map((hint) => hint.text)
  const { selection, support: kind } = config
  const chosen = chooseHints({ selection, texts, overlaps, random: options.random })
  const support = looksAtSampledTokens(config)
    ? sampledSupport({ responseIds, hints, chosen })
    : buildSupport({ kind, student: top, hints, chosen })
  const tokens = item.hints.reduce(
    (sum, hint) => sum + hint.promptIds.length + responseIds.length,
    0,
  )
  return {
    support,
    oldLogProbs: await oldAtSupport(item, { ...options, support, top }),
    overlap: overlapRecord({ sampleId, responseIds, student: top, hints, chosen }),
    tokens,
  }
}

async function scoreTeachers(
  item: BatchItem,
  options: TeacherOptions & { readonly top: TopTokens },
): Promise<TeacherView[]> {
  const { model, config, yieldPoint, top } = options
  const requests = item.hints.map((hint) => ({
    ...sequenceOf(item, hint.promptIds),
    adapter: config.teacher === 'active' ? options.adapter : null,
    topK: config.topK,
    gatherIds: Int32Array.from(top.ids),
    temperature: item.temperature,
    yieldPoint,
  }))
  const scores = await model.scoreAll(requests)
  return item.hints.flatMap(({ hintId, text }, index) => {
    const score = scores[index]
    if (score === undefined) return []
    const { sampled, gathered: atStudent } = score
    return [{ hintId, text, top: topTokens(score), atStudent, sampled }]
  })
}

/** The sampled token alone, under each position's chosen teacher. */
function sampledSupport(options: {
  readonly responseIds: readonly number[]
  readonly hints: readonly TeacherView[]
  readonly chosen: readonly number[]
}): Support {
  const ids = Int32Array.from(options.responseIds)
  const teacherLogProbs = Float32Array.from(options.chosen, (hint, t) =>
    at(options.hints[hint]?.sampled ?? [], t),
  )
  return { width: 1, ids, members: new Uint8Array(ids.length).fill(1), teacherLogProbs }
}

/** ℓ_old at the support's ids, [R, M]; another pass only where the support leaves what the student's score holds. */
async function oldAtSupport(
  item: BatchItem,
  options: TeacherOptions & { readonly support: Support; readonly top: TopTokens },
): Promise<Float32Array> {
  const { model, config, adapter, yieldPoint, student, support, top } = options
  if (looksAtSampledTokens(config)) return student.sampled
  if (leavesStudent(config)) {
    const { gathered } = await model.score({
      ...sequenceOf(item, item.promptIds),
      temperature: item.temperature,
      adapter,
      gatherIds: support.ids,
      yieldPoint,
    })
    return gathered
  }
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

function leavesStudent({ support }: TrainingConfig): boolean {
  return support === 'teacher' || support === 'union'
}

function topTokens(score: Score): TopTokens {
  const positions = score.sampled.length
  const width = score.topIds.length / positions
  return { positions, width, ids: score.topIds, logProbs: score.topLogProbs }
}
