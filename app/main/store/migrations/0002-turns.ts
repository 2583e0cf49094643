export const turnsMigration = {
  version: 2,
  sql: `
CREATE TABLE turns (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  chat_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  prompt_ids BLOB NOT NULL,
  bare_ids BLOB NOT NULL,
  response_ids BLOB NOT NULL,
  log_probs BLOB,
  temperature REAL NOT NULL,
  top_p REAL NOT NULL,
  top_k REAL NOT NULL,
  min_p REAL NOT NULL,
  seed INTEGER NOT NULL,
  version INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  scaffold_note_ids TEXT NOT NULL,
  dropped_messages INTEGER NOT NULL,
  finish TEXT NOT NULL,
  time_to_first_token_ms REAL,
  tokens_per_second REAL,
  held_out INTEGER NOT NULL,
  reward TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_of_chat ON turns (chat_id, seq);
CREATE INDEX turns_by_kind ON turns (kind, seq);

CREATE TABLE votes (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL,
  source TEXT NOT NULL,
  name TEXT NOT NULL,
  value INTEGER,
  weight REAL NOT NULL,
  raw TEXT NOT NULL,
  duration_ms REAL NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX votes_of_turn ON votes (turn_id, seq);

CREATE TABLE signals (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  value REAL,
  text TEXT NOT NULL,
  message_id TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX signals_of_turn ON signals (turn_id, seq);

CREATE TABLE judge_tasks (
  seq INTEGER PRIMARY KEY,
  turn_id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  error TEXT,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX judge_tasks_by_state ON judge_tasks (state, seq);

CREATE TABLE hints (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL,
  chat_id TEXT NOT NULL,
  text TEXT NOT NULL,
  source TEXT NOT NULL,
  quote TEXT,
  state TEXT NOT NULL,
  decided_by TEXT,
  quality REAL NOT NULL,
  quality_reasons TEXT NOT NULL,
  note_id TEXT,
  shown_ms REAL NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER
) STRICT;
CREATE INDEX hints_of_turn ON hints (turn_id, seq);
CREATE INDEX hints_of_note ON hints (note_id);

CREATE TABLE notes (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  scope TEXT NOT NULL,
  count INTEGER NOT NULL,
  "check" TEXT,
  state TEXT NOT NULL,
  learned_in INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
`,
} as const
