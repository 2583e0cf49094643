// Judging on the host's side: owed turns in order, one at a time, each verdict stored before it is shown.
// Not the judge itself (prm). Source: DESIGN 4 steps 5–7, 5.
import type { NextState } from '../../shared/contract/prm.ts'
import type { HintProposal } from '../../shared/domain/hint.ts'
import type { NewVote, Turn } from '../../shared/domain/turn.ts'
import { toAppError } from '../../shared/errors.ts'
import type { Signal } from '../store/types.ts'
import type { LearningDeps } from './ports.ts'
import { ruleWeights } from './rule-weights.ts'

export interface Judging extends AsyncDisposable {
  /** Puts a turn in the queue; the store already holds the debt. */
  owe(turnId: string): void
  /** After a start: everything that was owed when the program ended. */
  resume(): void
  pending(): number
  settled(): Promise<void>
}

export interface JudgingHooks {
  /** New proposals are stored; decides which are approved at once. */
  readonly onHints: (turnId: string) => void
  readonly onVerdict: (turnId: string) => void
  /** Nothing is owed any more. */
  readonly onSettled: () => void
  /** Whether the model judge may vote (self-test), or the rules decide alone. */
  readonly judgeMode: () => 'off' | 'score' | 'generate'
}

/** Below this quality a proposal starts as vetoed (DESIGN 6.2). */
const filterLimit = 0.3

function signalsOf(signals: readonly Signal[]): NextState['signals'] {
  // A thumb taken back (0) cancels the thumbs before it.
  const lastThumb = signals.findLast((signal) => signal.kind === 'thumb')
  return signals.flatMap((signal): NextState['signals'] => {
    if (signal.kind === 'regenerate') return [{ kind: 'regenerate' }]
    if (signal.kind === 'edit') return [{ kind: 'edit', text: signal.text }]
    if (signal.kind === 'exit-code') return [{ kind: 'exit-code', code: signal.value ?? 0 }]
    if (signal.kind === 'thumb' && signal === lastThumb && signal.value) {
      return [{ kind: 'thumb', value: signal.value > 0 ? 1 : -1, text: signal.text }]
    }
    return []
  })
}

/** Everything after the reply, from the stored signals, with the request it answered. */
export function nextStateOf(deps: Pick<LearningDeps, 'store'>, turn: Turn): NextState | null {
  const reply = deps.store.message(turn.messageId)
  const request = reply?.parentId == null ? null : deps.store.message(reply.parentId)
  if (reply === null || request === null) return null
  const signals = deps.store.signals(turn.id)
  const messages = signals
    .filter((signal) => signal.kind === 'next-message')
    .map((signal) => ({ role: 'user' as const, text: signal.text }))
  return { request: request.text, reply: reply.text, messages, signals: signalsOf(signals) }
}

function newVotes(deps: LearningDeps, turnId: string, votes: readonly NewVote[]): NewVote[] {
  const known = new Set(
    deps.store.votes(turnId).map((vote) => `${vote.source}/${vote.name}/${String(vote.value)}`),
  )
  return votes.filter((vote) => !known.has(`${vote.source}/${vote.name}/${String(vote.value)}`))
}

function storeHints(deps: LearningDeps, turn: Turn, proposals: readonly HintProposal[]): void {
  const stored = deps.store.hintsOf(turn.id)
  // What the user has put in their own words is not proposed again in the old ones.
  const isKnown = ({ text, source, quote }: HintProposal): boolean =>
    stored.some(
      (hint) =>
        hint.text === text ||
        (hint.state === 'edited' && hint.source === source && hint.quote === quote),
    )
  const fresh = proposals.filter((proposal) => !isKnown(proposal))
  for (const hint of deps.store.addHints(turn, fresh)) {
    if (hint.quality < filterLimit) {
      deps.store.updateHint(hint.id, { state: 'vetoed', decidedBy: 'filter' })
    }
  }
}

export function createJudging(deps: LearningDeps, hooks: JudgingHooks): Judging {
  const queue: string[] = []
  let current: Promise<void> | null = null
  let closed = false

  async function judge(turnId: string): Promise<void> {
    const turn = deps.store.turn(turnId)
    const chat = turn === null ? null : deps.store.chat(turn.chatId)
    const state = turn === null ? null : nextStateOf(deps, turn)
    if (turn === null || chat === null || state === null || turn.kind === 'side' || !chat.learn) {
      deps.store.setJudgeTask(turnId, 'done')
      return
    }
    const { judge: settings, judgeHidesRequest: hidesRequest } = deps.store.settings()
    const prm = await deps.prm()
    const verdict = await prm.judge({
      state: deps.rules.buildNextState(state),
      options: {
        mode: hooks.judgeMode(),
        votes: settings.votes,
        ruleWeights: ruleWeights(deps.store.ruleRecords()),
        hidesRequest,
      },
      notes: deps.store
        .notes()
        .filter((note) => note.state !== 'off' && deps.rules.inScope(note, state.request, chat.id)),
    })
    deps.store.transaction(() => {
      deps.store.addVotes(turnId, newVotes(deps, turnId, verdict.votes))
      deps.store.setReward(turnId, verdict.reward)
      storeHints(deps, turn, verdict.hints)
      // Signalled again meanwhile: a kill before the second judgement must find it owed.
      if (!queue.includes(turnId)) deps.store.setJudgeTask(turnId, 'done')
    })
    hooks.onHints(turnId)
    hooks.onVerdict(turnId)
    deps.publish({ kind: 'chat-changed', chatId: turn.chatId })
    deps.publish({ kind: 'hints-changed' })
    deps.publish({ kind: 'curves-changed' })
  }

  async function drain(): Promise<void> {
    for (let turnId = queue.shift(); turnId !== undefined && !closed; turnId = queue.shift()) {
      try {
        await judge(turnId)
      } catch (thrown) {
        if (closed) return
        // A failed judgement is a failure with its words, never a reward.
        deps.store.setJudgeTask(turnId, 'failed', toAppError(thrown).message)
        const turn = deps.store.turn(turnId)
        if (turn !== null) deps.publish({ kind: 'chat-changed', chatId: turn.chatId })
      }
    }
    current = null
    if (!closed) hooks.onSettled()
  }

  function owe(turnId: string): void {
    if (closed) return
    if (!queue.includes(turnId)) queue.push(turnId)
    current ??= drain()
  }

  return {
    owe,
    resume() {
      for (const task of deps.store.owedJudgeTasks()) owe(task.turnId)
    },
    pending: () => queue.length + (current === null ? 0 : 1),
    async settled() {
      await current
    },
    async [Symbol.asyncDispose]() {
      closed = true
      queue.length = 0
      await current
    },
  }
}
