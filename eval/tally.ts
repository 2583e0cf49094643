// Counts over a run what the judge made of the user's words: agreement, hints that say the wish, what judging cost.
import type { TurnSummary } from '../app/shared/contract/app.ts'
import type { Vote } from '../app/shared/domain/turn.ts'
import type { Persona } from './personas/persona.ts'
import type { Row, Share } from './results.ts'
import type { Reaction, SessionResult } from './user.ts'

/** A judged turn in words, from which its judge's prompts can be made again. */
export interface Judged {
  readonly request: string
  readonly reply: string
  readonly next: string
  /** Prompt ids of the model judge's votes. */
  readonly asked: readonly string[]
  /** What it wrote, where it wrote. */
  readonly raw: readonly string[]
}

export interface Tally {
  addSession(session: SessionResult, turns: readonly TurnSummary[]): void
  addVotes(votes: readonly Vote[], judged: Omit<Judged, 'asked' | 'raw'>): void
  hints(): Share
  judge(): Omit<Row['judge'], 'tokens'>
  judged(): readonly Judged[]
}

export function createTally(persona: Pick<Persona, 'expresses'>): Tally {
  const judged: Judged[] = []
  const agreement = { agreed: 0, all: 0 }
  const proposed = { expressing: 0, all: 0 }
  let seconds = 0
  let turnCount = 0
  return {
    addSession({ reactions }, turns) {
      const shown = reactions.filter((reaction) => reaction !== null)
      for (const [index, reaction] of shown.entries()) {
        // Another topic says nothing about the reply, so there is no verdict to agree with.
        if (reaction === 0) continue
        agreement.all++
        if (agrees(turns[index], reaction)) agreement.agreed++
      }
      for (const hint of turns.flatMap((turn) => turn.hints)) {
        if (hint.source === 'note' || hint.decidedBy === 'filter') continue
        proposed.all++
        if (persona.expresses(hint.text)) proposed.expressing++
      }
    },
    addVotes(votes, about) {
      turnCount++
      seconds += votes.reduce((sum, vote) => sum + vote.durationMs, 0) / 1000
      const asked = votes.filter(({ source }) => source === 'judge')
      if (asked.length === 0) return
      judged.push({
        ...about,
        asked: asked.map(({ name }) => name),
        raw: asked.map(({ raw }) => raw),
      })
    },
    hints: () => [proposed.expressing, proposed.all],
    judge: () => ({
      agreed: [agreement.agreed, agreement.all],
      asked: judged.length,
      seconds,
      turns: turnCount,
    }),
    judged: () => judged,
  }
}

/** A verdict of 0 and an undecided one are no agreement. */
function agrees(turn: TurnSummary | undefined, reaction: Exclude<Reaction, null>): boolean {
  return turn?.reward.kind === 'decided' && turn.reward.value === reaction
}
