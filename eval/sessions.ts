// Rounds of sessions with trainings between them: one persona, or several that take turns in one data folder.
import { practise, settle, train } from './learning.ts'
import type { Method } from './methods.ts'
import type { Work } from './personas/persona.ts'
import type { Progress } from './progress.ts'
import type { Row } from './results.ts'
import { isTrainingDue, outcomeString, thirdInARow } from './statistics.ts'
import type { Tally } from './tally.ts'
import { playSession, type SessionResult, type UserOptions } from './user.ts'

/** One persona of a run. */
export interface Seated {
  readonly user: UserOptions
  /** First requests of the sessions, used in turn. */
  readonly requests: readonly string[]
  readonly tally: Tally
}

export interface Rounds {
  readonly seats: readonly Seated[]
  readonly method: Method
  readonly cap: number
  /** Rounds after which a training may come, at first; see `isTrainingDue`. */
  readonly trainEvery: number
  readonly progress: Progress
}

/** What one persona's sessions were like. */
export interface Played {
  readonly outcomes: readonly boolean[]
  /** Nearness of each first reply, with the messages that the user had sent before it. */
  readonly nearness: readonly { readonly interactions: number; readonly score: number }[]
  /** Messages of the user in all sessions. */
  readonly interactions: number
  /** Sessions (1-based) that a training followed. */
  readonly trainedAfter: readonly number[]
}

export interface RoundsResult {
  /** In the order of the seats. */
  readonly played: readonly Played[]
  readonly training: Row['training']
}

/** A session is about this many replies of work, its share of a training included. */
export const sessionWork = 5

interface Score {
  readonly seat: Seated
  readonly outcomes: boolean[]
  readonly nearness: { interactions: number; score: number }[]
  interactions: number
}

/** Goes on until every persona has had three good first replies in a row, or to the cap. */
export async function playRounds(rounds: Rounds): Promise<RoundsResult> {
  const { seats, cap, trainEvery, progress, method } = rounds
  const scores = seats.map((seat): Score => ({ seat, outcomes: [], nearness: [], interactions: 0 }))
  const ledger = createLedger()
  const trainedAfter: number[] = []
  let round = 0
  while (round < cap && !scores.every(hasArrived)) {
    // What the Student's session left is graded by the TA and commented on by the Teacher.
    let work: Work | null = null
    for (const score of scores) {
      const request = nextRequest(score, work)
      const session = await playAndSettle(rounds, score, { request, trainedAfter })
      const { persona } = score.seat.user
      work = persona.passesOn?.({ request, reply: session.lastReply }, work) ?? work
    }
    round++
    const isDue = isTrainingDue(round, trainEvery) && !scores.every(hasArrived)
    const [first] = seats
    if (isDue && method.trainer !== null && first !== undefined) {
      if (await learn(first.user, { method, ledger, progress })) trainedAfter.push(round)
    }
  }
  progress.skip((cap - round) * seats.length * sessionWork)
  return {
    played: scores.map(({ outcomes, nearness, interactions }) => {
      return { outcomes, nearness, interactions, trainedAfter }
    }),
    training: ledger.summary(),
  }
}

function hasArrived({ outcomes }: Score): boolean {
  return thirdInARow(outcomes) !== null
}

function nextRequest({ seat, outcomes }: Score, work: Work | null): string {
  const { persona, random } = seat.user
  const taken = work === null ? null : (persona.takesUp?.(work, random) ?? null)
  const request = taken ?? seat.requests[outcomes.length % seat.requests.length]
  if (request === undefined) throw new RangeError('no request is left for a session')
  return request
}

async function playAndSettle(
  { progress }: Rounds,
  score: Score,
  { request, trainedAfter }: { readonly request: string; readonly trainedAfter: readonly number[] },
): Promise<SessionResult> {
  const { user, tally } = score.seat
  const { client } = user.connection
  const session = await playSession(user, request)
  const settled = await settle(client, user.watch, session.chatId)
  tally.addSession(session, settled.turns)
  await countVotes(score.seat, session.chatId)
  const { firstReply, reactions } = session
  score.outcomes.push(firstReply.satisfied)
  score.nearness.push({ interactions: score.interactions, score: firstReply.score })
  score.interactions += 1 + reactions.filter((reaction) => reaction !== null).length
  progress.report(
    `${user.persona.name} session ${score.outcomes.length}: ${sessionLine(session)}, rewards ${settled.rewards || 'none'}, ${settled.hints} hints · ${outcomeString(score.outcomes, trainedAfter)}`,
    sessionWork,
  )
  for (const error of settled.judgeErrors) progress.note(`judging failed: ${error}`)
  return session
}

async function countVotes({ user, tally }: Seated, chatId: string): Promise<void> {
  const { client } = user.connection
  const { messages } = await client.chats.view({ chatId })
  for (const [index, { turn, text: reply }] of messages.entries()) {
    const next = messages[index + 1]
    if (turn === null || next === undefined) continue
    const votes = await client.feedback.votes({ turnId: turn.id })
    tally.addVotes(votes, { request: messages[index - 1]?.text ?? '', reply, next: next.text })
  }
}

function sessionLine({ firstReply, corrections, end }: SessionResult): string {
  const verdict = firstReply.satisfied ? 'right' : 'wrong'
  return `first reply ${verdict} (${firstReply.detail}), ${corrections} corrections, ${end}`
}

/** Sums up the trainings of a run. */
interface Ledger {
  add(run: {
    readonly seconds: number
    readonly isLive: boolean
    readonly masses: readonly number[]
  }): void
  addPractice(seconds: number): void
  summary(): Row['training']
}

function createLedger(): Ledger {
  const total = { runs: 0, live: 0, seconds: 0, practiceSeconds: 0 }
  const masses: number[] = []
  return {
    add(run) {
      total.runs++
      if (run.isLive) total.live++
      total.seconds += run.seconds
      masses.push(...run.masses)
    },
    addPractice(seconds) {
      total.practiceSeconds += seconds
    },
    summary: () => ({
      ...total,
      outsideMass:
        masses.length === 0 ? null : masses.reduce((sum, one) => sum + one, 0) / masses.length,
    }),
  }
}

/** Where the app says that a training is due: practice, if the method has it, and the training. False = none came. */
async function learn(
  { connection: { client }, watch }: UserOptions,
  about: { readonly method: Method; readonly ledger: Ledger; readonly progress: Progress },
): Promise<boolean> {
  const { method, ledger, progress } = about
  if ((await client.learning.status()).phase !== 'due') return false
  if (method.practice) {
    const seconds = await practise(client, watch)
    ledger.addPractice(seconds)
    if (seconds > 0) progress.note(`practice took ${seconds.toFixed(0)} s`)
  }
  const training = await train(client, watch)
  if (training.kind === 'none') {
    progress.note(`no training: ${training.reason}`)
    return false
  }
  const { run, seconds } = training
  const masses = run.steps.flatMap(({ outsideMass }) => (outsideMass === null ? [] : [outsideMass]))
  ledger.add({ seconds, isLive: run.outcome === 'live', masses })
  progress.note(`training took ${seconds.toFixed(0)} s: ${run.outcome}. ${run.sentence}`)
  return true
}
