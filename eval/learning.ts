// The clock between sessions: judging runs out, hints are approved, a training runs to its end.
import type { ChatView, RunSummary, TurnSummary } from '../app/shared/contract/app.ts'
import type { AppClient } from './client.ts'
import type { Watch } from './watch.ts'

const judgeMs = 180_000
const runMs = 3_600_000

export interface Settled {
  /** Rewards of the session's turns in order, for the log: `-1 +1 ?`. */
  readonly rewards: string
  readonly hints: number
  readonly judgeErrors: readonly string[]
  /** The turns that were reacted to, in order. */
  readonly turns: readonly TurnSummary[]
}

/** Waits until every reply that was reacted to is judged, then approves the hints still proposed. */
export async function settle(client: AppClient, watch: Watch, chatId: string): Promise<Settled> {
  const turns = await watch.until('judging', judgeMs, async () => {
    const answered = answeredTurns(await client.chats.view({ chatId }))
    const open = answered.some((turn) => turn.reward.kind === 'waiting' && turn.judgeError === null)
    return open ? null : answered
  })
  const hints = turns.flatMap((turn) => turn.hints)
  for (const hint of hints) {
    if (hint.state === 'proposed') await client.hints.approve({ hintId: hint.id })
  }
  return {
    rewards: turns.map(({ reward }) => rewardSign(reward)).join(' '),
    hints: hints.length,
    judgeErrors: turns.map((turn) => turn.judgeError).filter((error) => error !== null),
    turns,
  }
}

/** Complete replies that have a message of the user after them. */
function answeredTurns(view: ChatView) {
  const lastUser = view.messages.findLastIndex(({ role }) => role === 'user')
  return view.messages
    .slice(0, Math.max(0, lastUser))
    .map(({ turn }) => turn)
    .filter((turn) => turn !== null)
}

function rewardSign(reward: { readonly kind: string; readonly value?: number }): string {
  if (reward.value === undefined) return '?'
  return reward.value > 0 ? '+1' : String(reward.value)
}

export type Training =
  | { readonly kind: 'run'; readonly run: RunSummary; readonly seconds: number }
  /** Nothing to train on, or a run that never came to be; the app's own words. */
  | { readonly kind: 'none'; readonly reason: string }

const working: readonly string[] = ['practising', 'training', 'checking', 'swapping']

/** *Train now*, and wait for what came of it. */
export async function train(client: AppClient, watch: Watch): Promise<Training> {
  const { trainBlocked } = await client.learning.status()
  if (trainBlocked !== null) return { kind: 'none', reason: trainBlocked }
  const earlier = new Set((await client.learning.runs()).map(({ id }) => id))
  const start = Date.now()
  await client.learning.trainNow()
  const status = await watch.until('a training run', runMs, async () => {
    const now = await client.learning.status()
    return working.includes(now.phase) ? null : now
  })
  const run = (await client.learning.runs()).find(({ id }) => !earlier.has(id))
  if (run === undefined) return { kind: 'none', reason: status.sentence }
  return { kind: 'run', run, seconds: (Date.now() - start) / 1000 }
}

/** Has the approved notes practised where the app finds any to practise; returns the seconds it took. */
export async function practise(client: AppClient, watch: Watch): Promise<number> {
  const { practiceBlocked } = await client.learning.status()
  if (practiceBlocked !== null) return 0
  const start = Date.now()
  await client.learning.practiceNow()
  await watch.until('practice', runMs, async () => {
    const now = await client.learning.status()
    return working.includes(now.phase) ? null : now
  })
  return (Date.now() - start) / 1000
}
