import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { AppError, isAppError } from '../../shared/errors.ts'
import { Connection } from './connection.ts'
import { takeLock } from './lock.ts'
import { applicationId, latestVersion, migrate, numberPragma, refuseNewer } from './migrate.ts'
import { migrations as allMigrations } from './migrations/index.ts'
import type { Migration } from './migrations/index.ts'
import { fileError, isUnwritable, storeError } from './sqlite-errors.ts'

export interface OpenOptions {
  readonly dataDir: string
  readonly now?: () => number
  /** Other than those of this Hone in tests only. */
  readonly migrations?: readonly Migration[]
}

export interface OpenedDatabase extends Disposable {
  readonly connection: Connection
}

/**
 * Takes the folder's lock, checks the file before anything touches it, migrates it and opens it;
 * for reading only where nothing can be written but data is there.
 */
export function openDatabase(options: OpenOptions): OpenedDatabase {
  const { dataDir, now = Date.now, migrations = allMigrations } = options
  const path = join(dataDir, 'hone.db')
  const unwritable = prepareFolder(dataDir, path)
  using opening = new DisposableStack()
  const lock = unwritable ?? tryLock(dataDir, path)
  if (!isAppError(lock)) opening.use(lock)
  const isEmpty = isEmptyFile(path)
  const found = isEmpty ? 0 : inspect(path)
  refuseNewer(found, latestVersion(migrations), path)
  const connection = opening.use(
    isAppError(lock)
      ? openForReading({ path, now, found, migrations, reason: lock })
      : openForWriting({ dataDir, path, now, found, migrations }),
  )
  const opened = opening.move()
  return { connection, [Symbol.dispose]: () => opened.dispose() }
}

/** Creates the folder; the error comes back as a value where an existing database can still be read. */
function prepareFolder(dataDir: string, path: string): AppError | null {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    return null
  } catch (error) {
    return readableOrThrow(fileError(error, `cannot create the folder ${dataDir}`), path)
  }
}

function tryLock(dataDir: string, path: string): Disposable | AppError {
  try {
    return takeLock(dataDir)
  } catch (error) {
    return readableOrThrow(error, path)
  }
}

function readableOrThrow(error: unknown, path: string): AppError {
  const cannotWrite =
    isAppError(error) && (error.code === 'read-only' || error.code === 'disk-full')
  if (cannotWrite && existsSync(path) && !isEmptyFile(path)) return error
  throw error
}

interface Found {
  readonly path: string
  readonly now: () => number
  /** Version of the tables that are there. */
  readonly found: number
  readonly migrations: readonly Migration[]
}

function openForWriting(options: Found & { readonly dataDir: string }): Connection {
  const { dataDir, path, now, found, migrations } = options
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(path, { timeout: 5000 })
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    migrate({ database, path, backupDir: join(dataDir, 'backups'), migrations, now })
    // Fails at once where nothing can be written, not at the user's first message.
    database.exec('BEGIN IMMEDIATE; ROLLBACK')
    return new Connection({ database, path, now, readOnly: null })
  } catch (error) {
    database?.close()
    const reason = storeError(error, path)
    if (!isUnwritable(error) || !isAppError(reason) || found === 0) throw reason
    return openForReading({ path, now, found, migrations, reason })
  }
}

function openForReading(options: Found & { readonly reason: AppError }): Connection {
  const { path, now, found, migrations, reason } = options
  const latest = latestVersion(migrations)
  if (found < latest) {
    const message = `the tables of ${path} have version ${found} and need ${latest}, but nothing can be written: ${reason.message}`
    throw new AppError(reason.code, message, { cause: reason })
  }
  return new Connection({ database: readOnlyDatabase(path), path, now, readOnly: reason })
}

/**
 * In a folder that cannot be written SQLite cannot make the shared-memory file that WAL needs. Where
 * no log is left the database file is complete by itself and can be read as one that never changes.
 */
function readOnlyDatabase(path: string): DatabaseSync {
  const plain = new DatabaseSync(path, { readOnly: true })
  try {
    plain.exec('SELECT 1 FROM sqlite_schema')
    return plain
  } catch (error) {
    plain.close()
    if (!isUnwritable(error) || !isEmptyFile(`${path}-wal`)) throw storeError(error, path)
  }
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true })
}

function isEmptyFile(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** Reads the version of the tables; fails with `corrupt` for what is not a sound database of Hone. */
function inspect(path: string): number {
  if (!hasSqliteHeader(path)) throw new AppError('corrupt', `${path} is not an SQLite database`)
  try {
    using database = readOnlyDatabase(path)
    const version = numberPragma(database, 'user_version')
    if (numberPragma(database, 'application_id') === applicationId) {
      checkPages(database, path)
      return version
    }
    const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()
    if (version === 0 && tables?.['tables'] === 0) return 0
    throw new AppError('corrupt', `${path} is a database of another program, not of Hone`)
  } catch (error) {
    throw storeError(error, path)
  }
}

function checkPages(database: DatabaseSync, path: string): void {
  const result = String(database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'])
  if (result !== 'ok') throw new AppError('corrupt', `${path} is damaged: ${result}`)
}

function hasSqliteHeader(path: string): boolean {
  const header = Buffer.alloc(16)
  try {
    const file = openSync(path, 'r')
    try {
      readSync(file, header, 0, header.length, 0)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw fileError(error, `cannot read ${path}`)
  }
  return header.toString('latin1') === 'SQLite format 3\0'
}
