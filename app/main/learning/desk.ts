// The user's own words on turns and notes: thumbs, and changes to preference notes.
import type { Note } from '../../shared/domain/hint.ts'
import type { Sample } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import type { LearningDeps } from './ports.ts'
import { withdraw } from './withdraw.ts'

export interface NoteDesk {
  updateNote(noteId: string, change: Partial<Pick<Note, 'text' | 'scope' | 'state'>>): Note
  removeNote(noteId: string): void
  thumb(input: { readonly turnId: string; readonly value: -1 | 0 | 1; readonly text: string }): void
}

export interface NoteDeskHooks {
  /** Judging is owed. */
  readonly owe: (turnId: string) => void
  /** What the turn teaches has changed. */
  readonly refresh: (turnId: string) => void
}

export function createNoteDesk(deps: LearningDeps, after: NoteDeskHooks): NoteDesk {
  function required(noteId: string): Note {
    const note = deps.store.note(noteId)
    if (note === null) throw new AppError('not-found', 'This note does not exist any more.')
    return note
  }

  return {
    updateNote(noteId, change) {
      const note = required(noteId)
      // A new text may mean a new rule: the checker is always made from the words.
      const check =
        change.text === undefined || change.text === note.text
          ? {}
          : { check: deps.rules.checkOf(change.text) }
      const updated = deps.store.updateNote(noteId, { ...change, ...check })
      deps.publish({ kind: 'hints-changed' })
      return updated
    },
    removeNote(noteId) {
      const note = required(noteId)
      const hints = deps.store.hints().filter((hint) => hint.noteId === note.id)
      deps.store.transaction(() => {
        for (const hint of hints) {
          deps.store.updateHint(hint.id, { noteId: null, state: 'vetoed', decidedBy: 'user' })
        }
        const isTouched = (sample: Sample): boolean => sample.noteIds.includes(note.id)
        withdraw(deps, { isTouched, what: 'note', text: note.text })
        deps.store.removeNote(note.id)
      })
      // Without the hint a rejected reply still teaches what its reward says.
      for (const turnId of new Set(hints.map((hint) => hint.turnId))) after.refresh(turnId)
      deps.publish({ kind: 'hints-changed' })
    },
    thumb({ turnId, value, text }) {
      const turn = deps.store.turn(turnId)
      if (turn === null) throw new AppError('not-found', 'This reply does not exist any more.')
      deps.store.transaction(() => {
        deps.store.addSignal({ turnId, kind: 'thumb', value, text: text.trim(), messageId: null })
        deps.store.setJudgeTask(turnId, 'owed')
      })
      deps.publish({ kind: 'chat-changed', chatId: turn.chatId })
      after.owe(turnId)
    },
  }
}
