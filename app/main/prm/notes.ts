// Approved hints become preference notes: one per wish, with a count, a scope and, where the text allows, a check.
import type { Check } from '../../shared/domain/check.ts'
import type { Note, Scope } from '../../shared/domain/hint.ts'
import { parseCheck } from './checks.ts'
import { sameKindOfRequest } from './request-kind.ts'
import { contradicts, sameCheck, sameWish } from './wishes.ts'

export interface ApprovedHint {
  readonly text: string
  /** What the hint was said about. */
  readonly request: string
  readonly reply: string
}

export type NoteChange =
  | {
      readonly kind: 'merge'
      readonly noteId: string
      readonly count: number
      readonly scope: Scope
      /** The note was switched off and is meant again. */
      readonly revives: boolean
    }
  | {
      readonly kind: 'new'
      readonly text: string
      readonly check: Check | null
      readonly scope: Scope
      /** Notes in the same scope that cannot be met together with this one; the newer wins. */
      readonly contradicts: readonly string[]
    }

/** Enough to recognise a kind of request, few enough to show. */
const maxScopeRequests = 20

export function mergeHint(notes: readonly Note[], hint: ApprovedHint): NoteChange {
  const check = parseCheck(hint.text, { reply: hint.reply })
  const scope: Scope = { kind: 'similar', requests: [hint.request] }
  const rivals = notes.filter((note) => overlaps(note.scope, hint.request))
  const same = preferred(
    notes.filter((note) => isSame(note, hint.text)),
    hint.request,
  )
  if (same !== undefined) {
    return {
      kind: 'merge',
      noteId: same.id,
      count: same.count + 1,
      scope: widened(same.scope, hint.request),
      revives: same.state === 'off',
    }
  }
  const against = rivals.filter(
    ({ state, text }) => state !== 'off' && contradicts(text, hint.text),
  )
  return { kind: 'new', text: hint.text, check, scope, contradicts: against.map(({ id }) => id) }
}

/** A relative wish ("shorter") keeps the limit of its first time: its texts decide, not its numbers. */
function isSame(note: Note, text: string): boolean {
  const check = parseCheck(text)
  const own = parseCheck(note.text)
  if (check !== null && note.check !== null && own !== null) return sameCheck(check, note.check)
  return sameWish(note.text, text)
}

function preferred(notes: readonly Note[], request: string): Note | undefined {
  return notes.find(({ scope }) => overlaps(scope, request)) ?? notes[0]
}

function overlaps(scope: Scope, request: string): boolean {
  return (
    scope.kind !== 'similar' || scope.requests.some((other) => sameKindOfRequest(other, request))
  )
}

/** The same wish said about another kind of request widens the note; said again about the same kind, nothing. */
function widened(scope: Scope, request: string): Scope {
  if (scope.kind !== 'similar' || overlaps(scope, request)) return scope
  return { kind: 'similar', requests: [...scope.requests, request].slice(-maxScopeRequests) }
}

/** Whether a note is meant for this request in this chat. Its state is the caller's business. */
export function inScope(note: Pick<Note, 'scope'>, request: string, chatId: string): boolean {
  const { scope } = note
  switch (scope.kind) {
    case 'everywhere':
      return true
    case 'chat':
      return scope.chatId === chatId
    case 'similar':
      return scope.requests.some((other) => sameKindOfRequest(other, request))
  }
}
