// What the Learning page shows, read from the store. Nothing is estimated: every point has a row behind it.
import type { Curves, HeatMap, RunSummary } from '../../shared/contract/app.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import { AppError } from '../../shared/errors.ts'
import type { LearningDeps } from './ports.ts'
import { mean } from './statistics.ts'

type ViewDeps = Pick<LearningDeps, 'store' | 'policy'>

const rollingWindow = 10
const turnLimit = 5000
const inARow = 3

function rewardPoints(turns: readonly Turn[]): Curves['rewards'] {
  const decided: number[] = []
  return turns
    .filter((turn) => turn.reward.kind !== 'waiting')
    .map((turn) => {
      if (turn.reward.kind === 'decided') decided.push(turn.reward.value)
      return {
        at: turn.createdAt,
        turnId: turn.id,
        chatId: turn.chatId,
        version: turn.version,
        reward: turn.reward,
        rolling: decided.length === 0 ? null : mean(decided.slice(-rollingWindow)),
      }
    })
}

/** First replies: the request came without a correction before it, and it was the first answer to it. */
function firstReplies(deps: ViewDeps, turns: readonly Turn[]): Turn[] {
  const answered = new Set<string>()
  const corrected = new Set<string>()
  return turns.filter((turn) => {
    const reply = deps.store.message(turn.messageId)
    const request = reply?.parentId == null ? null : deps.store.message(reply.parentId)
    if (request === null || answered.has(request.id)) return false
    answered.add(request.id)
    const isRejected = turn.reward.kind === 'decided' && turn.reward.value === -1
    if (isRejected) corrected.add(turn.messageId)
    return request.parentId === null || !corrected.has(request.parentId)
  })
}

function isAccepted(turn: Turn): boolean {
  return turn.reward.kind === 'decided' && turn.reward.value === 1
}

function isRejected(turn: Turn): boolean {
  return turn.reward.kind === 'decided' && turn.reward.value === -1
}

function sessionPoints(deps: ViewDeps, turns: readonly Turn[]): Curves['sessions'] {
  const sessions = Map.groupBy(turns, (turn) => turn.chatId)
  return [...sessions].flatMap(([chatId, all]) => {
    const firsts = firstReplies(deps, all).filter((turn) => turn.reward.kind === 'decided')
    const start = all[0]
    if (start === undefined || firsts.length === 0) return []
    return [
      {
        chatId,
        title: deps.store.chat(chatId)?.title ?? '',
        startedAt: start.createdAt,
        version: firsts.at(-1)?.version ?? start.version,
        firstReplies: firsts.length,
        accepted: firsts.filter(isAccepted).length,
        rejected: firsts.filter(isRejected).length,
      },
    ]
  })
}

/** 1-based index of the session that completed three accepted ones in a row. */
function threeInARow(sessions: Curves['sessions']): number | null {
  let row = 0
  for (const [index, session] of sessions.entries()) {
    row = session.accepted > 0 && session.rejected === 0 ? row + 1 : 0
    if (row === inARow) return index + 1
  }
  return null
}

export function curves(deps: ViewDeps): Curves {
  const turns = deps.store.recentTurns(turnLimit).filter((turn) => turn.kind === 'main')
  const sessions = sessionPoints(deps, turns)
  return {
    rewards: rewardPoints(turns),
    sessions,
    steps: deps.store.steps(turnLimit).map(({ runId, at, step }) => ({ ...step, runId, at })),
    threeInARowAt: threeInARow(sessions),
  }
}

export function runSummaries(deps: ViewDeps): RunSummary[] {
  return deps.store.runs(200).map((run) => ({
    id: run.id,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    outcome: run.outcome,
    version: run.version,
    sentence: run.sentence,
    sampleIds: [...run.sampleIds],
    steps: run.report?.steps ?? [],
  }))
}

export function heatMaps(deps: ViewDeps) {
  return deps.store.overlaps(500).map((row) => {
    const stored = deps.store.sample(row.sampleId)
    const turnId = stored?.sample.turnId ?? null
    const turn = turnId === null ? null : deps.store.turn(turnId)
    const text = turn === null ? '' : (deps.store.message(turn.messageId)?.text ?? '')
    const label = text.replaceAll(/\s+/g, ' ').slice(0, 60)
    return { ...row, turnId, label }
  })
}

export function heatMap(deps: ViewDeps, runId: string, sampleId: string): HeatMap {
  const row = deps.store.overlap(runId, sampleId)
  if (row === null) throw new AppError('not-found', 'This run has no overlap rows for this sample.')
  const policy = deps.policy()
  const { overlap } = row
  const ids = new Set<number>(overlap.responseIds)
  for (const list of [overlap.student, ...overlap.hints.map((hint) => hint.teacher)].flat()) {
    for (const id of list.ids) ids.add(id)
  }
  const tokenTexts = Object.fromEntries([...ids].map((id) => [String(id), policy.tokenText(id)]))
  return {
    ...overlap,
    runId,
    turnId: deps.store.sample(sampleId)?.sample.turnId ?? null,
    at: row.at,
    responseTexts: overlap.responseIds.map((id) => tokenTexts[String(id)] ?? ''),
    tokenTexts,
  }
}
