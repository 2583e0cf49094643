// The door of the store: everything the host keeps, in one SQLite file.
import { createChatStore } from './chats.ts'
import type { Connection } from './connection.ts'
import { createHintStore } from './hints.ts'
import { createLearningStore } from './learning.ts'
import { openDatabase } from './open.ts'
import { createSettingsStore } from './settings.ts'
import { createTurnStore } from './turns.ts'
import type { Store } from './types.ts'
import { createVersionStore } from './versions.ts'

export type { Store } from './types.ts'

export interface StoreOptions {
  readonly dataDir: string
  /** Milliseconds; `Date.now` unless a test says otherwise. */
  readonly now?: () => number
}

/** Opens the data folder, alone: a second process gets `busy`. */
export function openStore(options: StoreOptions): Store {
  const opened = openDatabase(options)
  return storeOn(opened.connection, opened)
}

export function storeOn(connection: Connection, owner: Disposable): Store {
  return {
    ...createChatStore(connection),
    ...createTurnStore(connection),
    ...createHintStore(connection),
    ...createLearningStore(connection),
    ...createVersionStore(connection),
    ...createSettingsStore(connection),
    transaction: (work) => connection.transaction(work),
    readOnlyReason: () => connection.readOnlyReason(),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  }
}
