import { turnSchema, voteSchema } from '../../shared/domain/turn.ts'
import type { Reward, Turn, Vote } from '../../shared/domain/turn.ts'
import { doubles, flag, ids, json, nullable, plain } from './codecs.ts'
import type { Connection } from './connection.ts'
import { appendEvent } from './events.ts'
import { judgeTaskSchema, signalSchema } from './rows.ts'
import { openTable } from './table.ts'
import type { TableDefinition } from './table.ts'
import type { JudgeTask, Signal, TurnStore } from './types.ts'

const turnTable: TableDefinition<Turn> = {
  name: 'turns',
  noun: 'turn',
  key: 'id',
  schema: turnSchema,
  columns: {
    id: plain,
    chatId: plain,
    messageId: plain,
    kind: plain,
    promptIds: ids,
    bareIds: ids,
    responseIds: ids,
    logProbs: nullable(doubles),
    temperature: plain,
    topP: plain,
    topK: plain,
    minP: plain,
    seed: plain,
    version: plain,
    modelId: plain,
    scaffoldNoteIds: json,
    droppedMessages: plain,
    finish: plain,
    timeToFirstTokenMs: plain,
    tokensPerSecond: plain,
    heldOut: flag,
    reward: json,
    createdAt: plain,
  },
}

const voteTable: TableDefinition<Vote> = {
  name: 'votes',
  noun: 'vote',
  key: 'id',
  schema: voteSchema,
  columns: {
    id: plain,
    turnId: plain,
    source: plain,
    name: plain,
    value: plain,
    weight: plain,
    raw: plain,
    durationMs: plain,
    createdAt: plain,
  },
}

const signalTable: TableDefinition<Signal> = {
  name: 'signals',
  noun: 'signal',
  key: 'id',
  schema: signalSchema,
  columns: {
    id: plain,
    turnId: plain,
    kind: plain,
    value: plain,
    text: plain,
    messageId: plain,
    createdAt: plain,
  },
}

const judgeTaskTable: TableDefinition<JudgeTask> = {
  name: 'judge_tasks',
  noun: 'judging task',
  key: 'turnId',
  schema: judgeTaskSchema,
  columns: { turnId: plain, state: plain, error: plain, updatedAt: plain },
}

/** A thumb taken back has the value 0, and says nothing about a rule. A turn judged twice counts once. */
const ruleRecordsSql = `
WITH thumbs AS (
  SELECT turn_id, value FROM signals AS s
  WHERE kind = 'thumb' AND seq =
    (SELECT MAX(seq) FROM signals WHERE turn_id = s.turn_id AND kind = 'thumb')
), said AS (
  SELECT DISTINCT turn_id, name, value FROM votes WHERE source = 'rule' AND value IS NOT NULL
)
SELECT said.name AS rule, SUM(said.value = thumbs.value) AS agreed,
  SUM(said.value <> thumbs.value) AS contradicted
FROM said JOIN thumbs USING (turn_id)
WHERE thumbs.value <> 0
GROUP BY said.name
ORDER BY said.name`

export function createTurnStore(connection: Connection): TurnStore {
  const turns = openTable(connection, turnTable)
  const votes = openTable(connection, voteTable)
  const signals = openTable(connection, signalTable)
  const tasks = openTable(connection, judgeTaskTable)
  const added = () => ({ id: connection.newId(), createdAt: connection.now() })

  return {
    addTurn: (turn) => turns.insert({ ...turn, ...added() }),
    turn: (id) => turns.get(id),
    turns: (chatId) => turns.list('WHERE chat_id = ? ORDER BY seq', chatId),
    recentTurns: (limit) =>
      turns.list(`WHERE kind = 'main' ORDER BY seq DESC LIMIT ?`, limit).reverse(),
    setReward: (turnId, reward) =>
      connection.transaction(() => {
        const before = turns.need(turnId).reward
        turns.update(turnId, { reward })
        const detail = { from: before, to: reward }
        if (isSameReward(before, reward)) return
        appendEvent(connection, { kind: 'reward-changed', subject: turnId, detail })
      }),
    addVotes: (turnId, added) =>
      connection.transaction(() => {
        turns.need(turnId)
        return added.map((vote) =>
          votes.insert({
            ...vote,
            turnId,
            id: connection.newId(),
            createdAt: connection.now(),
          }),
        )
      }),
    votes: (turnId) => votes.list('WHERE turn_id = ? ORDER BY seq', turnId),
    ruleRecords: () =>
      connection.all(ruleRecordsSql).map((row) => ({
        rule: String(row['rule']),
        agreed: Number(row['agreed']),
        contradicted: Number(row['contradicted']),
      })),
    addSignal: (signal) =>
      connection.transaction(() => {
        turns.need(signal.turnId)
        const row = signals.insert({ ...signal, ...added() })
        const detail = { signal: row.id, kind: row.kind, value: row.value }
        appendEvent(connection, { kind: 'signal-added', subject: row.turnId, detail })
        return row
      }),
    signals: (turnId) => signals.list('WHERE turn_id = ? ORDER BY seq', turnId),
    setJudgeTask: (turnId, state, error) =>
      connection.transaction(() => {
        turns.need(turnId)
        const change = { state, error: error ?? null, updatedAt: connection.now() }
        if (tasks.get(turnId) === null) tasks.insert({ turnId, ...change })
        else tasks.update(turnId, change)
      }),
    judgeTask: (turnId) => tasks.get(turnId),
    owedJudgeTasks: () => tasks.list(`WHERE state = 'owed' ORDER BY updated_at, seq`),
  }
}

function isSameReward(a: Reward, b: Reward): boolean {
  if (a.kind !== 'decided' || b.kind !== 'decided') return a.kind === b.kind
  return a.value === b.value && a.by === b.by
}
