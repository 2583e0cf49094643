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

function isRejected(turn: Turn): boolean {
  return turn.reward.kind === 'decided' && turn.reward.value === -1
}

interface Revision {
  readonly accepted: Turn
  /** What the user said on the way to it. */
  readonly corrections: readonly string[]
}

/** Accepted replies below a reply, over any number of corrections; a resent correction is a branch of its own. */
function* revisionsBelow(
  deps: PoolDeps,
  all: readonly Message[],
  reply: { readonly id: string; readonly corrections: readonly string[] },
): Generator<Revision> {
  for (const correction of all) {
    if (correction.parentId !== reply.id || correction.role !== 'user') continue
    const corrections = [...reply.corrections, correction.text]
    const turns = all
      .filter((each) => each.parentId === correction.id && each.turnId !== null)
      .map((each) => deps.store.turn(each.turnId ?? ''))
      .filter((turn) => turn !== null)
    for (const accepted of turns.filter(isAccepted)) yield { accepted, corrections }
    for (const turn of turns.filter(isRejected)) {
      yield* revisionsBelow(deps, all, { id: turn.messageId, corrections })
    }
  }
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
  for (const revision of revisionsBelow(deps, all, { id: turn.messageId, corrections: [] })) {
    if (isHowOnly(deps, { request, noteIds, ...revision })) return revision.accepted
  }
  return null
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
