import { versionSchema } from '../../shared/domain/version.ts'
import type { Version } from '../../shared/domain/version.ts'
import { AppError } from '../../shared/errors.ts'
import { json, nullable, plain } from './codecs.ts'
import type { Connection } from './connection.ts'
import { appendEvent } from './events.ts'
import { report } from './rows.ts'
import { openTable } from './table.ts'
import type { TableDefinition } from './table.ts'
import type { VersionStore } from './types.ts'

const versionTable: TableDefinition<Version> = {
  name: 'versions',
  noun: 'version',
  key: 'version',
  schema: versionSchema,
  columns: {
    version: plain,
    parent: plain,
    modelId: plain,
    state: plain,
    path: plain,
    sha256: plain,
    sampleIds: json,
    report,
    gate: nullable(json),
    tainted: plain,
    createdAt: plain,
    activatedAt: plain,
  },
}

export function createVersionStore(connection: Connection): VersionStore {
  const versions = openTable(connection, versionTable)
  const active = () => versions.list(`WHERE state = 'active'`)[0]?.version ?? 0

  const refuseRejected = (version: number): void => {
    if (versions.need(version).state !== 'rejected') return
    throw new AppError('conflict', `version ${version} was rejected and cannot become active`)
  }

  return {
    nextVersion: () =>
      connection.transaction(() => {
        const next = lastNumber(connection) + 1
        keepNumber(connection, next)
        return next
      }),
    addVersion: (version) =>
      connection.transaction(() => {
        const { version: number, parent } = version
        if (connection.get('SELECT 1 FROM versions WHERE version = ?', number) !== null) {
          throw new AppError('conflict', `there already is a version ${number}`)
        }
        const row = versions.insert({
          ...version,
          state: 'candidate',
          gate: null,
          tainted: null,
          createdAt: connection.now(),
          activatedAt: null,
        })
        keepNumber(connection, Math.max(number, lastNumber(connection)))
        append(connection, ['version-added', number], { parent, sha256: row.sha256 })
        return row
      }),
    version: (version) => versions.get(version),
    versions: () => versions.list('ORDER BY version'),
    setGate: (version, gate) =>
      connection.transaction(() => {
        versions.update(version, { gate })
        append(connection, ['version-gated', version], { passed: gate.passed })
      }),
    reject: (version) =>
      connection.transaction(() => {
        if (versions.need(version).state === 'active') {
          throw new AppError('conflict', `version ${version} is active and cannot be rejected`)
        }
        versions.update(version, { state: 'rejected' })
        append(connection, ['version-rejected', version], {})
      }),
    activate: (version) =>
      connection.transaction(() => {
        if (version !== 0) refuseRejected(version)
        const from = active()
        if (from === version) return
        if (from !== 0) versions.update(from, { state: 'retired' })
        const activatedAt = connection.now()
        if (version !== 0) versions.update(version, { state: 'active', activatedAt })
        append(connection, ['version-activated', version], { from })
      }),
    activeVersion: active,
    taint: (version, reason) =>
      connection.transaction(() => {
        versions.update(version, { tainted: reason })
        append(connection, ['version-tainted', version], { reason })
      }),
  }
}

type VersionEvent =
  'version-added' | 'version-gated' | 'version-activated' | 'version-rejected' | 'version-tainted'

function append(
  connection: Connection,
  [kind, version]: [VersionEvent, number],
  detail: Readonly<Record<string, unknown>>,
): void {
  appendEvent(connection, { kind, subject: `v${version}`, detail })
}

/** The highest number that was ever given. */
function lastNumber(connection: Connection): number {
  return Number(connection.get(`SELECT value FROM counters WHERE name = 'version'`)?.['value'] ?? 0)
}

function keepNumber(connection: Connection, number: number): void {
  connection.run(
    `INSERT INTO counters (name, value) VALUES ('version', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    number,
  )
}
