// One turn → verdict (DESIGN 5 and 6): rule votes, model votes where the judge is fit, the reward, and hint proposals.
import type { JudgeOptions, NextState, Verdict } from '../../shared/contract/prm.ts'
import type { Note } from '../../shared/domain/hint.ts'
import type { NewVote } from '../../shared/domain/turn.ts'
import { extractWishes } from './hints/extract.ts'
import { proposeHints } from './hints/propose.ts'
import { judgedHint, modelVotes, type Calibration, type ModelJudge } from './model-judge.ts'
import { judgeTimeoutMs, type JudgePort } from './port.ts'
import { explicitVote, tally } from './votes.ts'

export interface JudgeTurnInput {
  readonly state: NextState
  readonly options: JudgeOptions
  /** Active notes of this chat. */
  readonly notes: readonly Note[]
  /** What the rules of `signals` say about the state. */
  readonly ruleVotes: readonly NewVote[]
  /** The model judge passed its self-test in the mode asked for; else the rules decide alone. */
  readonly judgeUsable: boolean
  /** Kept by the caller between turns of one judge model. */
  readonly calibration?: Calibration
  readonly timeoutMs?: number
}

export async function judgeTurn(input: JudgeTurnInput, port: JudgePort): Promise<Verdict> {
  const { state, options, notes } = input
  if (state.messages.length === 0 && state.signals.length === 0) {
    return { reward: { kind: 'undecided' }, votes: [], hints: [] }
  }
  const explicit = explicitVote(state)
  const wishes = wishVotes(input)
  const votes = [...rulesBeside(wishes, input.ruleVotes), ...wishes]
  if (explicit !== null) votes.push(explicit.vote)
  const judge = modelJudgeFor(input, port)
  if (judge !== null && explicit === null) {
    votes.push(...(await modelVotes(state, options.votes, judge)))
  }
  const reward = explicit?.decision ?? tally(votes)
  const accepted = reward.kind === 'decided' && reward.value === 1
  let judged: string | null = null
  if (judge?.mode === 'generate' && !accepted) {
    const hindsight = await judgedHint(state, judge)
    if (hindsight.kind === 'hint') judged = hindsight.text
    if (hindsight.kind === 'failed') votes.push(hindsight.vote)
  }
  return { reward, votes, hints: proposeHints({ state, notes, judged, accepted }) }
}

/** "Start with 'Well done'." shares no word with the exchange and is about it all the same: no change of topic. */
function rulesBeside(wishes: readonly NewVote[], ruleVotes: readonly NewVote[]): NewVote[] {
  return ruleVotes.filter(({ value }) => wishes.length === 0 || value !== 0)
}

/**
 * A wish about the reply's form is a change request even if no rule of `signals` knew its words.
 * One change request is one vote, so it is silent where a rule already said −1.
 */
function wishVotes({ state, options, ruleVotes }: JudgeTurnInput): NewVote[] {
  if (ruleVotes.some(({ value }) => value === -1)) return []
  const started = performance.now()
  const wish = state.messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ text }) => extractWishes(text, state.request))
    .at(0)
  if (wish === undefined) return []
  const durationMs = performance.now() - started
  const weight = options.ruleWeights['states-wish'] ?? 1
  return [{ source: 'rule', name: 'states-wish', value: -1, weight, raw: wish.quote, durationMs }]
}

/** A regenerate or a thumb alone leaves nothing to read. */
function modelJudgeFor(input: JudgeTurnInput, port: JudgePort): ModelJudge | null {
  const { state, options, judgeUsable, calibration = new Map(), timeoutMs = judgeTimeoutMs } = input
  const readable =
    state.messages.length > 0 || state.signals.some(({ kind }) => kind === 'exit-code')
  if (!judgeUsable || options.mode === 'off' || !readable) return null
  const { mode, hidesRequest = false } = options
  return { mode, hidesRequest, port, calibration, timeoutMs }
}
