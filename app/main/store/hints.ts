import { hintSchema, noteSchema } from '../../shared/domain/hint.ts'
import type { Hint, Note } from '../../shared/domain/hint.ts'
import { json, nullable, plain } from './codecs.ts'
import type { Connection } from './connection.ts'
import { appendEvent } from './events.ts'
import { openTable } from './table.ts'
import type { TableDefinition } from './table.ts'
import type { HintStore } from './types.ts'

const hintTable: TableDefinition<Hint> = {
  name: 'hints',
  noun: 'hint',
  key: 'id',
  schema: hintSchema,
  columns: {
    id: plain,
    turnId: plain,
    chatId: plain,
    text: plain,
    source: plain,
    quote: plain,
    state: plain,
    decidedBy: plain,
    quality: plain,
    qualityReasons: json,
    noteId: plain,
    shownMs: plain,
    createdAt: plain,
    decidedAt: plain,
  },
}

const noteTable: TableDefinition<Note> = {
  name: 'notes',
  noun: 'note',
  key: 'id',
  schema: noteSchema,
  columns: {
    id: plain,
    text: plain,
    scope: json,
    count: plain,
    check: nullable(json),
    state: plain,
    learnedIn: plain,
    createdAt: plain,
    updatedAt: plain,
  },
}

export function createHintStore(connection: Connection): HintStore {
  const hints = openTable(connection, hintTable)
  const notes = openTable(connection, noteTable)

  return {
    addHints: (turn, proposals) =>
      connection.transaction(() =>
        proposals.map((proposal) =>
          hints.insert({
            ...proposal,
            id: connection.newId(),
            turnId: turn.id,
            chatId: turn.chatId,
            state: 'proposed',
            decidedBy: null,
            noteId: null,
            shownMs: 0,
            createdAt: connection.now(),
            decidedAt: null,
          }),
        ),
      ),
    hint: (id) => hints.get(id),
    hints: () => hints.list('ORDER BY seq'),
    hintsOf: (turnId) => hints.list('WHERE turn_id = ? ORDER BY seq', turnId),
    updateHint: (id, change) =>
      connection.transaction(() => {
        const before = hints.need(id)
        const { state } = change
        if (state === undefined || state === before.state) return hints.update(id, change)
        const after = hints.update(id, { ...decision(state, connection.now()), ...change })
        const detail = { from: before.state, to: state, by: after.decidedBy }
        appendEvent(connection, { kind: 'hint-decided', subject: id, detail })
        return after
      }),
    addNote: (note) =>
      connection.transaction(() => {
        const at = connection.now()
        const row = notes.insert({ ...note, id: connection.newId(), createdAt: at, updatedAt: at })
        appendEvent(connection, { kind: 'note-added', subject: row.id })
        return row
      }),
    note: (id) => notes.get(id),
    notes: () => notes.list('ORDER BY seq'),
    updateNote: (id, change) =>
      connection.transaction(() => {
        const row = notes.update(id, { ...change, updatedAt: connection.now() })
        const { state, count, learnedIn } = row
        const detail = { fields: Object.keys(change), state, count, learnedIn }
        appendEvent(connection, { kind: 'note-changed', subject: id, detail })
        return row
      }),
    removeNote: (id) =>
      connection.transaction(() => {
        notes.need(id)
        connection.run('UPDATE hints SET note_id = NULL WHERE note_id = ?', id)
        connection.run('DELETE FROM notes WHERE id = ?', id)
        appendEvent(connection, { kind: 'note-removed', subject: id })
      }),
  }
}

/** A decision has a time; taking it back leaves the hint as it was proposed. */
function decision(state: Hint['state'], at: number): Partial<Hint> {
  return state === 'proposed' ? { decidedBy: null, decidedAt: null } : { decidedAt: at }
}
