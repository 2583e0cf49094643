import type { SQLInputValue } from 'node:sqlite'
import type { z } from 'zod'
import { AppError } from '../../shared/errors.ts'
import { RowError } from './codecs.ts'
import type { Codec } from './codecs.ts'
import type { Connection, StoredRow } from './connection.ts'
import { appendEvent } from './events.ts'

export interface TableDefinition<Row> {
  readonly name: string
  /** What one row is called in messages. */
  readonly noun: string
  /** The field by which rows are found and changed. */
  readonly key: keyof Row & string
  readonly schema: z.ZodType<Row>
  readonly columns: { readonly [Field in keyof Row]-?: Codec<Row[Field]> }
}

/** Typed rows of one SQL table; what cannot be read is moved to the quarantine. */
export interface Table<Row> {
  /** Checks the row against its schema, then writes it. */
  insert(row: Row): Row
  get(key: string | number): Row | null
  /** The same, failing with `not-found`. */
  need(key: string | number): Row
  /** Writes the given fields and returns the whole row; fails with `not-found`. */
  update(key: string | number, change: Partial<Row>): Row
  /** `rest` is SQL after FROM, such as `WHERE chat_id = ? ORDER BY seq`. */
  list(rest: string, ...values: SQLInputValue[]): Row[]
}

interface Column {
  readonly field: string
  readonly column: string
  readonly codec: Codec<unknown>
}

export function openTable<Row extends object>(
  connection: Connection,
  definition: TableDefinition<Row>,
): Table<Row> {
  const { name, noun } = definition
  const columns = columnsOf(definition)
  const keyColumn = columnName(definition.key)
  const places = columns.map(() => '?').join(', ')
  const insertSql = `INSERT INTO ${name} (${columns.map(({ column }) => column).join(', ')}) VALUES (${places})`

  const list: Table<Row>['list'] = (rest, ...values) =>
    connection
      .all(`SELECT * FROM ${name} ${rest}`, ...values)
      .flatMap((stored) => readRow({ connection, definition, columns, stored }))

  const get: Table<Row>['get'] = (key) => list(`WHERE ${keyColumn} = ?`, key)[0] ?? null

  const need: Table<Row>['need'] = (key) => {
    const row = get(key)
    if (row !== null) return row
    throw new AppError('not-found', `there is no ${noun} ${key}`, { data: { noun, key } })
  }

  const encode = (row: Row, used: readonly Column[]): SQLInputValue[] =>
    used.map(({ field, codec }) => encodeField(noun, codec, [field, row[field as keyof Row]]))

  return {
    list,
    get,
    need,
    insert: (row) => {
      const checked = check(definition, row)
      connection.run(insertSql, ...encode(checked, columns))
      return checked
    },
    update: (key, change) => {
      const checked = check(definition, { ...need(key), ...change })
      const used = columns.filter(({ field }) => field in change)
      if (used.length === 0) return checked
      const sets = used.map(({ column }) => `${column} = ?`).join(', ')
      connection.run(
        `UPDATE ${name} SET ${sets} WHERE ${keyColumn} = ?`,
        ...encode(checked, used),
        key,
      )
      return checked
    },
  }
}

function columnsOf<Row extends object>(definition: TableDefinition<Row>): Column[] {
  return Object.entries(definition.columns).map(([field, codec]) => ({
    field,
    column: columnName(field),
    codec: codec as Codec<unknown>,
  }))
}

/** `chatId` becomes `"chat_id"`; quoted, since a field may be called like a word of SQL (`check`). */
function columnName(field: string): string {
  return `"${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`
}

/** What is written must be readable: a NaN or a missing field is refused here, with its path. */
function check<Row>(definition: TableDefinition<Row>, row: Row): Row {
  const parsed = definition.schema.safeParse(row)
  if (parsed.success) return parsed.data
  const message = `a ${definition.noun} cannot be stored: ${issuesOf(parsed.error)}`
  throw new AppError('invalid-input', message, { cause: parsed.error })
}

function encodeField(
  noun: string,
  codec: Codec<unknown>,
  [field, value]: [string, unknown],
): SQLInputValue {
  try {
    return codec.encode(value)
  } catch (error) {
    if (!(error instanceof RowError)) throw error
    const message = `a ${noun} cannot be stored: ${field}: ${error.message}`
    throw new AppError('invalid-input', message, { cause: error })
  }
}

function issuesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    .join('; ')
}

interface ReadRequest<Row> {
  readonly connection: Connection
  readonly definition: TableDefinition<Row>
  readonly columns: readonly Column[]
  readonly stored: StoredRow
}

/** One row, or none when it is bad. */
function readRow<Row>({ connection, definition, columns, stored }: ReadRequest<Row>): Row[] {
  const raw: Record<string, unknown> = {}
  for (const { field, column, codec } of columns) {
    try {
      raw[field] = codec.decode(stored[column.slice(1, -1)] ?? null)
    } catch (error) {
      if (!(error instanceof RowError)) throw error
      quarantine(connection, {
        table: definition.name,
        stored,
        reason: `${field}: ${error.message}`,
      })
      return []
    }
  }
  const parsed = definition.schema.safeParse(raw)
  if (parsed.success) return [parsed.data]
  quarantine(connection, { table: definition.name, stored, reason: issuesOf(parsed.error) })
  return []
}

export interface QuarantinedRow {
  readonly table: string
  readonly reason: string
  readonly at: number
  /** The row as it was; bytes as hexadecimal text. */
  readonly content: Readonly<Record<string, unknown>>
}

/** Moves a row that cannot be read out of the way, whole, with the reason. */
function quarantine(
  connection: Connection,
  bad: { readonly table: string; readonly stored: StoredRow; readonly reason: string },
): void {
  if (!connection.writable) return
  const { table, stored, reason } = bad
  const seq = stored['seq'] ?? null
  connection.transaction(() => {
    connection.run(
      'INSERT INTO quarantine (at, origin, reason, content) VALUES (?, ?, ?, ?)',
      connection.now(),
      table,
      reason,
      JSON.stringify(stored, (_, value: unknown) =>
        value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value,
      ),
    )
    connection.run(`DELETE FROM ${table} WHERE seq = ?`, seq)
    appendEvent(connection, { kind: 'row-quarantined', subject: table, detail: { seq } })
  })
}

/** Oldest first. */
export function listQuarantine(connection: Connection): QuarantinedRow[] {
  return connection.all('SELECT * FROM quarantine ORDER BY seq').map((row) => ({
    table: String(row['origin']),
    reason: String(row['reason']),
    at: Number(row['at']),
    content: JSON.parse(String(row['content'])) as Record<string, unknown>,
  }))
}
