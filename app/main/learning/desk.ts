// The user's own words on turns and notes: thumbs, and changes to preference notes.
import type { Note } from '../../shared/domain/hint.ts'
import { AppError } from '../../shared/errors.ts'
import type { LearningDeps } from './ports.ts'

export interface NoteDesk {
  updateNote(noteId: string, change: Partial<Pick<Note, 'text' | 'scope' | 'state'>>): Note
  removeNote(noteId: string): void
  thumb(input: { readonly turnId: string; readonly value: -1 | 0 | 1; readonly text: string }): void
}

export function createNoteDesk(deps: LearningDeps, owe: (turnId: string) => void): NoteDesk {
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
      deps.store.transaction(() => {
        for (const hint of deps.store.hints()) {
          if (hint.noteId === note.id) {
            deps.store.updateHint(hint.id, { noteId: null, state: 'vetoed', decidedBy: 'user' })
          }
        }
        for (const stored of deps.store.samples(['ready', 'returned'])) {
          if (stored.sample.noteIds.includes(note.id)) {
            deps.store.setSampleState(
              stored.sample.id,
              'vetoed',
              `its note "${note.text}" was removed`,
            )
          }
        }
        for (const version of deps.store.versions()) {
          const touched = version.sampleIds.some((id) =>
            deps.store.sample(id)?.sample.noteIds.includes(note.id),
          )
          if (touched) {
            deps.store.taint(
              version.version,
              `It learned from the note "${note.text}", removed since.`,
            )
          }
        }
        deps.store.removeNote(note.id)
      })
      deps.publish({ kind: 'hints-changed' })
      deps.publish({ kind: 'versions-changed' })
    },
    thumb({ turnId, value, text }) {
      const turn = deps.store.turn(turnId)
      if (turn === null) throw new AppError('not-found', 'This reply does not exist any more.')
      deps.store.transaction(() => {
        deps.store.addSignal({ turnId, kind: 'thumb', value, text: text.trim(), messageId: null })
        deps.store.setJudgeTask(turnId, 'owed')
      })
      deps.publish({ kind: 'chat-changed', chatId: turn.chatId })
      owe(turnId)
    },
  }
}
