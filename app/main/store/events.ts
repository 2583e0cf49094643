// The append-only record of everything that was learned or decided. It names ids and numbers, never
// the text of a chat, so that forgetting a text leaves nothing of it here.
import type { Connection } from './connection.ts'

export type EventKind =
  | 'hint-decided'
  | 'note-added'
  | 'note-changed'
  | 'note-removed'
  | 'reward-changed'
  | 'signal-added'
  | 'sample-added'
  | 'sample-state'
  | 'run-started'
  | 'run-ended'
  | 'version-added'
  | 'version-gated'
  | 'version-activated'
  | 'version-rejected'
  | 'version-tainted'
  | 'row-quarantined'

export interface StoredEvent {
  readonly seq: number
  readonly at: number
  readonly kind: string
  readonly subject: string
  readonly detail: unknown
}

export interface NewEvent {
  readonly kind: EventKind
  /** The id of what it is about. */
  readonly subject: string
  readonly detail?: Readonly<Record<string, unknown>>
}

export function appendEvent(connection: Connection, event: NewEvent): void {
  connection.run(
    'INSERT INTO events (at, kind, subject, detail) VALUES (?, ?, ?, ?)',
    connection.now(),
    event.kind,
    event.subject,
    JSON.stringify(event.detail ?? {}),
  )
}

/** Oldest first. */
export function listEvents(connection: Connection): StoredEvent[] {
  return connection.all('SELECT * FROM events ORDER BY seq').map((row) => ({
    seq: Number(row['seq']),
    at: Number(row['at']),
    kind: String(row['kind']),
    subject: String(row['subject']),
    detail: JSON.parse(String(row['detail'])) as unknown,
  }))
}
