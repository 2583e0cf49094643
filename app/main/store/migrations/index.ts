import { chatsMigration } from './0001-chats.ts'
import { learningMigration } from './0003-learning.ts'
import { rewardMaskMigration } from './0004-reward-mask.ts'
import { turnsMigration } from './0002-turns.ts'

/** One numbered change of the tables. A migration that was released is never edited. */
export interface Migration {
  readonly version: number
  readonly sql: string
}

export const migrations: readonly Migration[] = [
  chatsMigration,
  turnsMigration,
  learningMigration,
  rewardMaskMigration,
]
