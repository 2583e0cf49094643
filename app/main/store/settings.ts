import { z } from 'zod'
import { defaultSettings, settingsSchema } from '../../shared/domain/settings.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import { exchangeSchema } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import type { Connection } from './connection.ts'
import type { Store } from './types.ts'

export type SettingsStore = Pick<
  Store,
  'settings' | 'updateSettings' | 'value' | 'setValue' | 'exchanges' | 'setExchanges'
>

const exchangeList = z.array(exchangeSchema)

export function createSettingsStore(connection: Connection): SettingsStore {
  const settings = (): Settings => {
    const stored = connection.all('SELECT name, value FROM settings')
    const known = new Map(stored.map((row) => [String(row['name']), parseOr(row['value'])]))
    return settingsSchema.parse(repair(settingsSchema, Object.fromEntries(known), defaultSettings))
  }

  return {
    settings,
    updateSettings: (change) =>
      connection.transaction(() => {
        const parsed = settingsSchema.safeParse({ ...settings(), ...change })
        if (!parsed.success) {
          const message = `the settings cannot be stored: ${z.prettifyError(parsed.error)}`
          throw new AppError('invalid-input', message, { cause: parsed.error })
        }
        const fields = new Set(Object.keys(change))
        const changed = Object.entries(parsed.data).filter(([field]) => fields.has(field))
        for (const [field, value] of changed) put(connection, ['settings', field], value)
        return parsed.data
      }),
    value: (key) => {
      const row = connection.get('SELECT value FROM stored_values WHERE name = ?', key)
      return row === null ? undefined : parseOr(row['value'])
    },
    setValue: (key, value) => put(connection, ['stored_values', key], value),
    exchanges: (modelId, set) => {
      const row = connection.get(
        'SELECT exchanges FROM exchanges WHERE model_id = ? AND name = ?',
        modelId,
        set,
      )
      // A cache: what cannot be read is made again.
      return row === null ? null : (exchangeList.safeParse(parseOr(row['exchanges'])).data ?? null)
    },
    setExchanges: (modelId, set, exchanges) => {
      connection.run(
        `INSERT INTO exchanges (model_id, name, exchanges) VALUES (?, ?, ?)
         ON CONFLICT (model_id, name) DO UPDATE SET exchanges = excluded.exchanges`,
        modelId,
        set,
        JSON.stringify(exchanges),
      )
    },
  }
}

function put(
  connection: Connection,
  [table, name]: ['settings' | 'stored_values', string],
  value: unknown,
): void {
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined) throw new AppError('invalid-input', `${name} has no JSON value to store`)
  connection.run(
    `INSERT INTO ${table} (name, value) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    name,
    text,
  )
}

/** What is no JSON counts as not stored. */
function parseOr(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Takes every stored field that is valid and the default for each that is missing or is not. */
function repair(schema: z.ZodType, stored: unknown, fallback: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(fallback)) {
    const parsed = schema.safeParse(stored)
    return parsed.success ? parsed.data : fallback
  }
  const known = isRecord(stored) ? stored : {}
  const fields = Object.entries<z.ZodType>(schema.shape)
  return Object.fromEntries(
    fields.map(([name, field]) => [name, repair(field, known[name], fallback[name])]),
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
