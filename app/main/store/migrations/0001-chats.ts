export const chatsMigration = {
  version: 1,
  sql: `
CREATE TABLE chats (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  learn INTEGER NOT NULL,
  active_leaf_id TEXT,
  deleted_at INTEGER
) STRICT;

CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  chat_id TEXT NOT NULL,
  parent_id TEXT,
  role TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL,
  error TEXT,
  turn_id TEXT,
  edit_of TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_chat ON messages (chat_id, seq);
CREATE INDEX streaming_messages ON messages (status) WHERE status = 'streaming';

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE stored_values (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE quarantine (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  origin TEXT NOT NULL,
  reason TEXT NOT NULL,
  content TEXT NOT NULL
) STRICT;
`,
} as const
