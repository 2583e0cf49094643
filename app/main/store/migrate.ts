import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../shared/errors.ts'
import type { Migration } from './migrations/index.ts'
import { fileError, storeError } from './sqlite-errors.ts'

/** Written into the header of every database of Hone: "Hone" in ASCII. */
export const applicationId = 0x486f6e65

export interface MigrateOptions {
  readonly database: DatabaseSync
  readonly path: string
  readonly backupDir: string
  readonly migrations: readonly Migration[]
  readonly now: () => number
}

/** Brings the tables up to date, each migration in one transaction and after a copy of what was there. */
export function migrate(options: MigrateOptions): void {
  const { database, path, migrations } = options
  const from = numberPragma(database, 'user_version')
  for (const migration of migrations.filter(({ version }) => version > from)) {
    const before = numberPragma(database, 'user_version')
    if (from > 0) backUp(options, before)
    try {
      apply(database, migration)
    } catch (error) {
      throw storeError(error, path)
    }
  }
}

export function numberPragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)
}

export function latestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0
}

/** Fails for a database of a newer Hone; nothing of it may be touched. */
export function refuseNewer(found: number, latest: number, path: string): void {
  if (found <= latest) return
  const message = `${path} was made by a newer Hone: its tables have version ${found}, this Hone knows ${latest}`
  throw new AppError('unsupported', message, { data: { found, latest } })
}

function apply(database: DatabaseSync, migration: Migration): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(migration.sql)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${migration.version}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function backUp(options: MigrateOptions, version: number): void {
  const { database, backupDir, path } = options
  try {
    mkdirSync(backupDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw fileError(error, `cannot create the folder ${backupDir}`)
  }
  // The clock alone is not unique when a failed migration is tried again at once.
  const stamp = `${Math.trunc(options.now())}-${process.hrtime.bigint()}`
  const copy = join(backupDir, `hone-v${version}-${stamp}.db`)
  try {
    database.prepare('VACUUM INTO ?').run(copy)
  } catch (error) {
    throw storeError(error, path)
  }
}
