import type { ChatView, Curves } from '../../../shared/contract/app.ts'
import type { Note } from '../../../shared/domain/hint.ts'

export interface Tally {
  accepted: number
  total: number
}

/** First replies that were accepted: in the open chat, and in all chats that began before it. */
export function sessionsSoFar(
  sessions: Curves['sessions'],
  chatId: string | null,
): { now: Tally; before: Tally } {
  const open = sessions.find((session) => session.chatId === chatId)
  const earlier = sessions.filter(
    (session) => session !== open && (open === undefined || session.startedAt < open.startedAt),
  )
  return { now: tally(open === undefined ? [] : [open]), before: tally(earlier) }
}

function tally(sessions: Curves['sessions']): Tally {
  return sessions.reduce(
    (sum, { accepted, firstReplies }) => ({
      accepted: sum.accepted + accepted,
      total: sum.total + firstReplies,
    }),
    { accepted: 0, total: 0 },
  )
}

/** Notes that reach this chat, those that were in one of its prompts first. */
export function notesInUse(
  notes: readonly Note[],
  view: ChatView | null,
): { note: Note; isUsedHere: boolean }[] {
  const used = new Set(view?.messages.flatMap((message) => message.turn?.scaffoldNoteIds ?? []))
  return notes
    .filter((note) => note.state !== 'off' && isNear(note, view, used))
    .map((note) => ({ note, isUsedHere: used.has(note.id) }))
    .toSorted((a, b) => Number(b.isUsedHere) - Number(a.isUsedHere))
}

function isNear(note: Note, view: ChatView | null, used: ReadonlySet<string>): boolean {
  if (used.has(note.id) || note.scope.kind === 'everywhere') return true
  if (note.scope.kind === 'chat') return note.scope.chatId === view?.chat.id
  if (view === null || view.messages.length === 0) return true
  // Whether a request is similar only the host can tell; that it is the same can be seen here.
  const { requests } = note.scope
  return view.messages.some(({ role, text }) => role === 'user' && requests.includes(text))
}
