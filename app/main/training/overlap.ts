// Overlap-guided choice of hints: how far the student's likeliest tokens and those of a hinted teacher agree, which
// hint is taken where, which tokens the distillation looks at, and the record behind the heat map.
// OpenClaw-RL v2, hybrid RL. Pure; scoring happens elsewhere.
import type { Overlap, TrainingConfig } from '../../shared/domain/training.ts'
import { at } from './losses/surrogate.ts'

/** The likeliest tokens per position, in falling order. */
export interface TopTokens {
  readonly positions: number
  /** K. */
  readonly width: number
  /** [R, K]. */
  readonly ids: ArrayLike<number>
  /** [R, K]. */
  readonly logProbs: ArrayLike<number>
}

/** One candidate hint with its teacher's view. */
export interface HintView {
  readonly hintId: string
  readonly text: string
  readonly top: TopTokens
  /** ℓ_T at the student's top-K ids, [R, K]. */
  readonly atStudent: ArrayLike<number>
}

/** |student top-K ∩ teacher top-K| per position, [R]. */
export function overlapCounts(student: TopTokens, teacher: TopTokens): number[] {
  return Array.from({ length: student.positions }, (_, t) => {
    const theirs = new Set(idsAt(teacher, t))
    return idsAt(student, t).filter((id) => theirs.has(id)).length
  })
}

/** Index of the chosen hint per position, [R]; ties go to the shorter text, then to the earlier hint. */
export function chooseHints(options: {
  readonly selection: TrainingConfig['selection']
  readonly texts: readonly string[]
  /** Overlap counts of each hint, [hints][R]. */
  readonly overlaps: readonly (readonly number[])[]
  readonly random: () => number
}): number[] {
  const { texts, overlaps } = options
  const positions = overlaps[0]?.length ?? 0
  // In this order the first of equals is the right one.
  const byLength = texts.map((_, hint) => hint)
  byLength.sort((first, second) => lengthOf(texts, first) - lengthOf(texts, second))
  const everywhere = (hint: number) => new Array<number>(positions).fill(hint)
  const best = (score: (hint: number) => number) =>
    byLength.reduce((winner, hint) => (score(hint) > score(winner) ? hint : winner))
  switch (options.selection) {
    case 'sequence':
      return everywhere(best((hint) => (overlaps[hint] ?? []).reduce((sum, n) => sum + n, 0)))
    case 'token':
      return everywhere(0).map((_, t) => best((hint) => at(overlaps[hint] ?? [], t)))
    case 'shortest':
      return everywhere(best((hint) => -lengthOf(texts, hint)))
    case 'longest':
      return everywhere(best((hint) => lengthOf(texts, hint)))
    case 'random':
      return everywhere(Math.floor(options.random() * texts.length))
  }
}

export interface Support {
  /** M: columns per position; 2K for a union, else K. */
  readonly width: number
  /** Unused columns repeat the position's first student token, [R, M]. */
  readonly ids: Int32Array
  /** 1 where the column counts, [R, M]. */
  readonly members: Uint8Array
  /** ℓ_T of the chosen hint's teacher; 0 in unused columns, [R, M]. */
  readonly teacherLogProbs: Float32Array
}

/** The tokens the distillation looks at, per position, under the chosen hint's teacher. */
export function buildSupport(options: {
  readonly kind: TrainingConfig['support']
  readonly student: TopTokens
  readonly hints: readonly HintView[]
  readonly chosen: readonly number[]
}): Support {
  const { kind, student } = options
  const width = kind === 'union' ? 2 * student.width : student.width
  const ids = new Int32Array(student.positions * width)
  const members = new Uint8Array(ids.length)
  const teacherLogProbs = new Float32Array(ids.length)
  for (let t = 0; t < student.positions; t++) {
    const view = options.hints[at(options.chosen, t)]
    if (view === undefined) throw new RangeError(`no hint ${at(options.chosen, t)}`)
    ids.fill(at(student.ids, t * student.width), t * width, (t + 1) * width)
    supportAt({ kind, student, view, t }).forEach(({ id, logProb }, column) => {
      ids[t * width + column] = id
      members[t * width + column] = 1
      teacherLogProbs[t * width + column] = logProb
    })
  }
  return { width, ids, members, teacherLogProbs }
}

function supportAt(options: {
  readonly kind: TrainingConfig['support']
  readonly student: TopTokens
  readonly view: HintView
  readonly t: number
}): { readonly id: number; readonly logProb: number }[] {
  const { kind, student, view, t } = options
  const studentIds = idsAt(student, t)
  const teacherIds = idsAt(view.top, t)
  const mine = studentIds.map((id, k) => ({
    id,
    logProb: at(view.atStudent, t * student.width + k),
  }))
  const theirs = teacherIds.map((id, k) => ({
    id,
    logProb: at(view.top.logProbs, t * view.top.width + k),
  }))
  switch (kind) {
    case 'student':
      return mine
    case 'teacher':
      return theirs
    case 'overlap':
      return mine.filter(({ id }) => teacherIds.includes(id))
    case 'union':
      return [...mine, ...theirs.filter(({ id }) => !studentIds.includes(id))]
  }
}

/** Teacher's probability mass outside the support, mean over positions: what distillation cannot pull toward. */
export function outsideMass(support: Support): number {
  const positions = support.ids.length / support.width
  let inside = 0
  for (let index = 0; index < support.ids.length; index++) {
    if (at(support.members, index) === 1) inside += Math.exp(at(support.teacherLogProbs, index))
  }
  return Math.min(Math.max(1 - inside / positions, 0), 1)
}

/** The rows of the heat map for one sample. */
export function overlapRecord(options: {
  readonly sampleId: string
  readonly responseIds: readonly number[]
  readonly student: TopTokens
  readonly hints: readonly HintView[]
  readonly chosen: readonly number[]
}): Overlap {
  return {
    sampleId: options.sampleId,
    responseIds: [...options.responseIds],
    topK: options.student.width,
    student: topLists(options.student),
    hints: options.hints.map((hint) => ({
      hintId: hint.hintId,
      text: hint.text,
      overlap: overlapCounts(options.student, hint.top),
      teacher: topLists(hint.top),
    })),
    chosen: [...options.chosen],
  }
}

function topLists(top: TopTokens): Overlap['student'] {
  return Array.from({ length: top.positions }, (_, t) => ({
    ids: idsAt(top, t),
    logProbs: Array.from({ length: top.width }, (_, k) => at(top.logProbs, t * top.width + k)),
  }))
}

function idsAt(top: TopTokens, t: number): number[] {
  return Array.from({ length: top.width }, (_, k) => at(top.ids, t * top.width + k))
}

function lengthOf(texts: readonly string[], hint: number): number {
  return texts[hint]?.length ?? 0
}
