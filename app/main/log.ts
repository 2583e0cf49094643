// The log: what was a bug or a failure of the machine, with its stack. Never chat text.
import { join } from 'node:path'
import { pino } from 'pino'
import { toAppError } from '../shared/errors.ts'

export interface Log {
  /** An unexpected failure, with where it happened. */
  failure(where: string, thrown: unknown): void
  note(fact: string): void
}

/** Appends to `logs/hone.log` in the data folder; each line is on the disk when the call returns. */
export function openLog(dataDir: string): Log {
  const path = join(dataDir, 'logs', 'hone.log')
  const logger = pino({ base: null }, pino.destination({ dest: path, mkdir: true, sync: true }))
  return {
    failure(where, thrown) {
      const error = toAppError(thrown)
      const cause = error.cause instanceof Error ? error.cause.stack : undefined
      logger.error({ where, code: error.code, stack: error.stack, cause }, error.message)
    },
    note: (fact) => logger.info(fact),
  }
}
