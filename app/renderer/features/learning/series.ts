import type { Curves } from '../../../shared/contract/app.ts'
import { differenceBins } from '../../../shared/domain/difference-bins.ts'

export interface RewardRow {
  /** 1-based, over all decided replies. */
  reply: number
  at: number
  value: -1 | 0 | 1
  rolling: number | null
  version: number
}

export function decidedRewards(rewards: Curves['rewards']): RewardRow[] {
  const rows: RewardRow[] = []
  for (const { reward, at, rolling, version } of rewards) {
    if (reward.kind !== 'decided') continue
    rows.push({
      reply: rows.length + 1,
      at,
      value: reward.value,
      rolling: finite(rolling),
      version,
    })
  }
  return rows
}

export interface SessionRow {
  /** 1-based, oldest first. */
  session: number
  title: string
  version: number
  firstReplies: number
  accepted: number
  rejected: number
  /** Percent; null while no first reply was judged. */
  share: number | null
}

export function sessionRows(sessions: Curves['sessions']): SessionRow[] {
  return sessions.map((point, index) => ({
    session: index + 1,
    title: point.title,
    version: point.version,
    firstReplies: point.firstReplies,
    accepted: point.accepted,
    rejected: point.rejected,
    share: point.firstReplies === 0 ? null : (100 * point.accepted) / point.firstReplies,
  }))
}

export interface StepRow {
  /** 1-based, over all runs. */
  index: number
  runId: string
  loss: number | null
  lossRl: number | null
  lossOpd: number | null
  lossDemo: number | null
  lossAnchor: number | null
  gradientNorm: number | null
  logProbGap: number | null
  outsideMass: number | null
}

/** NaN and infinity become gaps; a refused step must not bend the axis. */
export function stepRows(steps: Curves['steps']): StepRow[] {
  return steps.map((step, index) => ({
    index: index + 1,
    runId: step.runId,
    loss: finite(step.loss),
    lossRl: finite(step.lossRl),
    lossOpd: finite(step.lossOpd),
    lossDemo: finite(step.lossDemo),
    lossAnchor: finite(step.lossAnchor),
    gradientNorm: finite(step.gradientNorm),
    logProbGap: finite(step.logProbGap),
    outsideMass: finite(step.outsideMass),
  }))
}

export interface DifferenceRow {
  /** Middle of the bin, nats; the open bins stand beside the outermost ones. */
  middle: number
  /** Lower and upper edge; null = open. */
  from: number | null
  to: number | null
  count: number
  /** The clip takes something away from what lies in it. */
  isClipped: boolean
}

/** The counts of the newest run that has any; its first step stands for the run, since nothing had moved before it. */
export function newestDifferences(
  steps: Curves['steps'],
): { clip: number; rows: DifferenceRow[] } | null {
  const last = steps.findLast(({ differences }) => differences !== null)
  if (last === undefined) return null
  const ofRun = steps.find(({ runId, differences }) => runId === last.runId && differences !== null)
  if (ofRun?.differences == null) return null
  const { low, width, count } = differenceBins
  const { clip, counts } = ofRun.differences
  const rows = counts.map((number, bin): DifferenceRow => {
    const edge = low + (bin - 1) * width
    const from = bin === 0 ? null : edge
    const to = bin === count - 1 ? null : edge + width
    const isClipped = (from ?? -Infinity) < -clip || (to ?? Infinity) > clip
    return { middle: edge + width / 2, from, to, count: number, isClipped }
  })
  return { clip, rows }
}

export function finite(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null
}
