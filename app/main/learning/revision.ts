// The accepted second try as a demonstration for the first request (DESIGN 7.1): only where the correction
// was about how, not what.
import type { Message } from '../../shared/domain/chat.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import type { PoolDeps } from './pool.ts'

const factPattern = /\d+(?:[.,]\d+)*|(?<![.!?。！？\n]\s*|^)\b\p{Lu}\p{L}+/gu

/** Names and numbers that the correction brought in and the revision took over. */
export function sharesNewFacts(request: string, correction: string, revision: string): boolean {
  const facts = correction.match(factPattern) ?? []
  return facts.some((fact) => !request.includes(fact) && revision.includes(fact))
}

function isAccepted(turn: Turn): boolean {
  return turn.reward.kind === 'decided' && turn.reward.value === 1 && turn.finish === 'stop'
}

/** The reply further down that the user accepted after correcting this one, if it teaches the same request. */
export function acceptedRevision(
  deps: PoolDeps,
  turn: Turn,
  noteIds: readonly string[],
): Turn | null {
  const all = deps.store.messages(turn.chatId)
  const request = parentOf(all, turn.messageId)
  if (request === undefined) return null
  let replyId = turn.messageId
  const corrections: string[] = []
  for (;;) {
    const correction = all.find((each) => each.parentId === replyId && each.role === 'user')
    if (correction === undefined) return null
    corrections.push(correction.text)
    const replies = all.filter((each) => each.parentId === correction.id && each.turnId !== null)
    const turns = replies
      .map((reply) => deps.store.turn(reply.turnId ?? ''))
      .filter((t) => t !== null)
    const accepted = turns.find(isAccepted)
    if (accepted !== undefined) {
      return isHowOnly(deps, { request, corrections, accepted, noteIds }) ? accepted : null
    }
    const rejected = turns.find(
      (each) => each.reward.kind === 'decided' && each.reward.value === -1,
    )
    if (rejected === undefined) return null
    replyId = rejected.messageId
  }
}

function parentOf(all: readonly Message[], messageId: string): Message | undefined {
  const message = all.find((each) => each.id === messageId)
  return all.find((each) => each.id === message?.parentId)
}

function isHowOnly(
  deps: PoolDeps,
  about: {
    readonly request: Message
    readonly corrections: readonly string[]
    readonly accepted: Turn
    readonly noteIds: readonly string[]
  },
): boolean {
  if (about.accepted.heldOut) return false
  const text = deps.store.message(about.accepted.messageId)?.text ?? ''
  const satisfiesNotes = about.noteIds.every((id) => {
    const check = deps.store.note(id)?.check
    return check == null || deps.rules.satisfies(check, text)
  })
  return (
    satisfiesNotes &&
    !about.corrections.some((correction) => sharesNewFacts(about.request.text, correction, text))
  )
}
