export const learningMigration = {
  version: 3,
  sql: `
CREATE TABLE samples (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  turn_id TEXT,
  chat_id TEXT,
  prompt_ids BLOB NOT NULL,
  response_ids BLOB NOT NULL,
  temperature REAL NOT NULL,
  sampler_log_probs BLOB,
  sampled_prompt_ids BLOB,
  version INTEGER NOT NULL,
  reward INTEGER,
  hints TEXT NOT NULL,
  note_ids TEXT NOT NULL,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  uses INTEGER NOT NULL
) STRICT;
CREATE INDEX samples_by_state ON samples (state, seq);
CREATE INDEX samples_of_turn ON samples (turn_id, seq);

CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT NOT NULL,
  version INTEGER,
  sentence TEXT NOT NULL,
  sample_ids TEXT NOT NULL,
  report TEXT
) STRICT;

CREATE TABLE steps (
  seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  step TEXT NOT NULL
) STRICT;
CREATE INDEX steps_of_run ON steps (run_id, seq);

CREATE TABLE overlaps (
  seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  sample_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  hints INTEGER NOT NULL,
  positions INTEGER NOT NULL,
  overlap BLOB NOT NULL
) STRICT;
CREATE INDEX overlaps_of_sample ON overlaps (run_id, sample_id, seq);

CREATE TABLE versions (
  seq INTEGER PRIMARY KEY,
  version INTEGER NOT NULL UNIQUE,
  parent INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  state TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  sample_ids TEXT NOT NULL,
  report TEXT NOT NULL,
  gate TEXT,
  tainted TEXT,
  created_at INTEGER NOT NULL,
  activated_at INTEGER
) STRICT;
CREATE UNIQUE INDEX one_active_version ON versions (state) WHERE state = 'active';

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;

CREATE TABLE exchanges (
  model_id TEXT NOT NULL,
  name TEXT NOT NULL,
  exchanges TEXT NOT NULL,
  PRIMARY KEY (model_id, name)
) STRICT;
`,
} as const
