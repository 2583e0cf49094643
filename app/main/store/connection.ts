import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { AppError, isAppError } from '../../shared/errors.ts'
import { storeError } from './sqlite-errors.ts'

export type StoredRow = Record<string, SQLOutputValue>

export interface ConnectionOptions {
  readonly database: DatabaseSync
  readonly path: string
  readonly now: () => number
  /** Set when the database could only be opened for reading. */
  readonly readOnly: AppError | null
}

/** One open database: prepared statements, nested transactions, errors in the product's words. */
export class Connection implements Disposable {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #now: () => number
  readonly #readOnly: AppError | null
  readonly #statements = new Map<string, StatementSync>()
  #depth = 0
  /** The last failure to write; cleared by the next write that succeeds. */
  #writeFailure: AppError | null = null
  /** Why SQLite gave up the running transaction by itself, which it does when the disk is full. */
  #lostTransaction: unknown = null

  constructor(options: ConnectionOptions) {
    this.path = options.path
    this.#database = options.database
    this.#now = options.now
    this.#readOnly = options.readOnly
  }

  /** Whole milliseconds. */
  now(): number {
    return Math.trunc(this.#now())
  }

  newId(): string {
    return randomUUID()
  }

  get writable(): boolean {
    return this.#readOnly === null
  }

  readOnlyReason(): string | null {
    return (this.#readOnly ?? this.#writeFailure)?.message ?? null
  }

  all(sql: string, ...values: SQLInputValue[]): StoredRow[] {
    return this.#guard(() => this.#prepare(sql).all(...values))
  }

  get(sql: string, ...values: SQLInputValue[]): StoredRow | null {
    return this.#guard(() => this.#prepare(sql).get(...values)) ?? null
  }

  /** Runs a writing statement and returns how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    if (this.#readOnly !== null) throw this.#readOnly
    if (this.#depth > 0 && !this.#database.isTransaction) throw this.#lost()
    const { changes } = this.#guardWrite(() => this.#prepare(sql).run(...values))
    return Number(changes)
  }

  /** Runs `work` in a transaction, or in a savepoint of the one that is running. */
  transaction<Result>(work: () => Result): Result {
    if (this.#readOnly !== null) throw this.#readOnly
    const savepoint = this.#depth === 0 ? null : `level_${this.#depth}`
    this.#begin(savepoint)
    this.#depth += 1
    try {
      const result = work()
      if (result instanceof Promise) {
        throw new AppError('internal', 'a transaction cannot wait for a promise')
      }
      this.#commit(savepoint)
      return result
    } catch (error) {
      this.#rollBack(savepoint)
      throw error
    } finally {
      this.#depth -= 1
    }
  }

  [Symbol.dispose](): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #begin(savepoint: string | null): void {
    if (savepoint === null) this.#lostTransaction = null
    else if (!this.#database.isTransaction) throw this.#lost()
    const sql = savepoint === null ? 'BEGIN IMMEDIATE' : `SAVEPOINT ${savepoint}`
    this.#guardWrite(() => this.#prepare(sql).run())
  }

  #commit(savepoint: string | null): void {
    if (!this.#database.isTransaction) throw this.#lost()
    const sql = savepoint === null ? 'COMMIT' : `RELEASE ${savepoint}`
    this.#guardWrite(() => this.#prepare(sql).run())
  }

  #rollBack(savepoint: string | null): void {
    if (!this.#database.isTransaction) return
    if (savepoint === null) {
      this.#guard(() => this.#prepare('ROLLBACK').run())
    } else {
      this.#guard(() => this.#prepare(`ROLLBACK TO ${savepoint}`).run())
      this.#guard(() => this.#prepare(`RELEASE ${savepoint}`).run())
    }
  }

  #lost(): unknown {
    return this.#lostTransaction ?? new AppError('internal', 'the transaction ended too early')
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw storeError(error, this.path)
    }
  }

  #guardWrite<Result>(work: () => Result): Result {
    try {
      const result = this.#guard(work)
      this.#writeFailure = null
      return result
    } catch (error) {
      if (isAppError(error) && (error.code === 'disk-full' || error.code === 'read-only')) {
        this.#writeFailure = error
      }
      if (this.#depth > 0 && !this.#database.isTransaction) this.#lostTransaction = error
      throw error
    }
  }
}
