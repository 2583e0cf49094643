import { AppError } from '../../shared/errors.ts'
import { doubles, ids, json, nullable, packed, plain } from './codecs.ts'
import type { Connection } from './connection.ts'
import { appendEvent } from './events.ts'
import { overlapRowSchema, report, runSchema, sampleRowSchema } from './rows.ts'
import { stepRowSchema, storedSample } from './rows.ts'
import type { OverlapRow, SampleRow, StepRow } from './rows.ts'
import { openTable } from './table.ts'
import type { TableDefinition } from './table.ts'
import type { LearningStore, StoredRun } from './types.ts'

const sampleTable: TableDefinition<SampleRow> = {
  name: 'samples',
  noun: 'sample',
  key: 'id',
  schema: sampleRowSchema,
  columns: {
    id: plain,
    kind: plain,
    turnId: plain,
    chatId: plain,
    promptIds: ids,
    responseIds: ids,
    temperature: plain,
    samplerLogProbs: nullable(doubles),
    sampledPromptIds: nullable(ids),
    version: plain,
    reward: plain,
    rewardMask: nullable(json),
    hints: json,
    noteIds: json,
    origin: plain,
    createdAt: plain,
    state: plain,
    reason: plain,
    uses: plain,
  },
}

const runTable: TableDefinition<StoredRun> = {
  name: 'runs',
  noun: 'training run',
  key: 'id',
  schema: runSchema,
  columns: {
    id: plain,
    startedAt: plain,
    endedAt: plain,
    outcome: plain,
    version: plain,
    sentence: plain,
    sampleIds: json,
    report: nullable(report),
  },
}

const stepTable: TableDefinition<StepRow> = {
  name: 'steps',
  noun: 'step',
  key: 'runId',
  schema: stepRowSchema,
  columns: { runId: plain, at: plain, step: json },
}

const overlapTable: TableDefinition<OverlapRow> = {
  name: 'overlaps',
  noun: 'overlap',
  key: 'runId',
  schema: overlapRowSchema,
  columns: {
    runId: plain,
    sampleId: plain,
    at: plain,
    hints: plain,
    positions: plain,
    overlap: packed,
  },
}

const interruptedSentence = 'Hone ended while this run was going on.'

type Samples = Pick<
  LearningStore,
  'addSample' | 'sample' | 'samples' | 'samplesOfTurn' | 'setSampleState' | 'countUse'
>

export function createLearningStore(connection: Connection): LearningStore {
  return { ...createSamples(connection), ...createRuns(connection), ...createRecords(connection) }
}

function createSamples(connection: Connection): Samples {
  const samples = openTable(connection, sampleTable)
  return {
    addSample: (sample) =>
      connection.transaction(() => {
        if (connection.get('SELECT 1 FROM samples WHERE id = ?', sample.id) !== null) {
          throw new AppError('conflict', `there already is a sample ${sample.id}`)
        }
        const row = samples.insert({ ...sample, state: 'ready', reason: null, uses: 0 })
        const detail = { kind: row.kind, origin: row.origin, turnId: row.turnId }
        appendEvent(connection, { kind: 'sample-added', subject: row.id, detail })
        return storedSample(row)
      }),
    sample: (id) => {
      const row = samples.get(id)
      return row === null ? null : storedSample(row)
    },
    samples: (states) =>
      samples
        .list(
          'WHERE state IN (SELECT value FROM json_each(?)) ORDER BY seq',
          JSON.stringify(states),
        )
        .map(storedSample),
    samplesOfTurn: (turnId) =>
      samples.list('WHERE turn_id = ? ORDER BY seq', turnId).map(storedSample),
    setSampleState: (id, state, reason) =>
      connection.transaction(() => {
        const before = samples.need(id)
        samples.update(id, { state, reason: reason ?? null })
        const detail = { from: before.state, to: state, reason: reason ?? null }
        appendEvent(connection, { kind: 'sample-state', subject: id, detail })
      }),
    countUse: (sampleIds) =>
      connection.transaction(() => {
        for (const id of sampleIds) samples.update(id, { uses: samples.need(id).uses + 1 })
      }),
  }
}

type Runs = Pick<LearningStore, 'startRun' | 'finishRun' | 'runs' | 'closeInterruptedRuns'>

function createRuns(connection: Connection): Runs {
  const runs = openTable(connection, runTable)

  const end = (id: string, result: Parameters<LearningStore['finishRun']>[1]): StoredRun => {
    const before = runs.need(id)
    if (before.outcome !== 'running') {
      throw new AppError('conflict', `training run ${id} has already ended: ${before.outcome}`)
    }
    const run = runs.update(id, { ...result, endedAt: connection.now() })
    const detail = { outcome: run.outcome, version: run.version }
    appendEvent(connection, { kind: 'run-ended', subject: id, detail })
    return run
  }

  return {
    startRun: (sampleIds) =>
      connection.transaction(() => {
        const run = runs.insert({
          id: connection.newId(),
          startedAt: connection.now(),
          endedAt: null,
          outcome: 'running',
          version: null,
          sentence: '',
          sampleIds: [...sampleIds],
          report: null,
        })
        appendEvent(connection, { kind: 'run-started', subject: run.id, detail: { sampleIds } })
        return run
      }),
    finishRun: (id, result) => {
      const { outcome, sentence, version, report: runReport } = result
      return connection.transaction(() =>
        end(id, { outcome, sentence, version, report: runReport }),
      )
    },
    runs: (limit) => runs.list('ORDER BY seq DESC LIMIT ?', limit),
    closeInterruptedRuns: () => {
      if (!connection.writable) return []
      const open = runs.list(`WHERE outcome = 'running' ORDER BY seq`)
      return connection.transaction(() =>
        open.map(({ id, version }) =>
          end(id, { outcome: 'interrupted', sentence: interruptedSentence, version, report: null }),
        ),
      )
    },
  }
}

type Records = Pick<LearningStore, 'addStep' | 'steps' | 'addOverlap' | 'overlaps' | 'overlap'>

function createRecords(connection: Connection): Records {
  const steps = openTable(connection, stepTable)
  const overlaps = openTable(connection, overlapTable)
  return {
    addStep: (runId, step) => {
      steps.insert({ runId, at: connection.now(), step })
    },
    steps: (limit) => steps.list('ORDER BY seq DESC LIMIT ?', limit).reverse(),
    addOverlap: (runId, overlap) =>
      connection.transaction(() => {
        const { sampleId } = overlap
        connection.run('DELETE FROM overlaps WHERE run_id = ? AND sample_id = ?', runId, sampleId)
        overlaps.insert({
          runId,
          sampleId,
          at: connection.now(),
          hints: overlap.hints.length,
          positions: overlap.responseIds.length,
          overlap,
        })
      }),
    overlaps: (limit) =>
      connection
        .all(
          'SELECT run_id, sample_id, at, hints, positions FROM overlaps ORDER BY seq DESC LIMIT ?',
          limit,
        )
        .map((row) => ({
          runId: String(row['run_id']),
          sampleId: String(row['sample_id']),
          at: Number(row['at']),
          hints: Number(row['hints']),
          positions: Number(row['positions']),
        })),
    overlap: (runId, sampleId) => {
      const [row] = overlaps.list('WHERE run_id = ? AND sample_id = ?', runId, sampleId)
      return row === undefined ? null : { at: row.at, overlap: row.overlap }
    },
  }
}
