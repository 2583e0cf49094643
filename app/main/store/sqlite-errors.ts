import { AppError } from '../../shared/errors.ts'
import type { ErrorCode } from '../../shared/errors.ts'

// Primary result codes of SQLite; an extended code carries its primary code in the low byte.
const codes = {
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  notADatabase: 26,
} as const

/** The primary SQLite code of an error, null when it does not come from SQLite. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null
}

/** Whether a database could not be opened for writing although it may still be readable. */
export function isUnwritable(error: unknown): boolean {
  const code = sqliteCode(error)
  return (
    code === codes.readOnly ||
    code === codes.full ||
    code === codes.cannotOpen ||
    code === codes.ioError
  )
}

/** Translates what SQLite threw into the closed list; everything else is passed on as it is. */
export function storeError(error: unknown, path: string): unknown {
  const code = sqliteCode(error)
  if (code === null) return error
  const fact = error instanceof Error ? error.message : String(error)
  const [name, sentence] = describe(code, path)
  return new AppError(name, `${sentence}: ${fact}`, { cause: error, data: { path } })
}

function describe(code: number, path: string): [ErrorCode, string] {
  switch (code) {
    case codes.full:
      return ['disk-full', `nothing can be written to ${path}, the disk is full`]
    case codes.readOnly:
    case codes.cannotOpen:
      return ['read-only', `nothing can be written to ${path}`]
    case codes.corrupt:
    case codes.notADatabase:
      return ['corrupt', `${path} is damaged or is not a database`]
    case codes.busy:
      return ['busy', `another program is writing to ${path}`]
    case codes.constraint:
      return ['invalid-input', `a value does not fit the tables of ${path}`]
    default:
      return ['internal', `SQLite failed on ${path}`]
  }
}

const fileCodes: Readonly<Record<string, [ErrorCode, string]>> = {
  ENOSPC: ['disk-full', 'the disk is full'],
  EDQUOT: ['disk-full', 'the disk quota is used up'],
  EACCES: ['read-only', 'permission is denied'],
  EPERM: ['read-only', 'permission is denied'],
  EROFS: ['read-only', 'the file system is read-only'],
  ENOTDIR: ['invalid-input', 'a part of the path is a file'],
  EEXIST: ['invalid-input', 'it is a file, not a folder'],
  EISDIR: ['invalid-input', 'it is a folder'],
}

/** The same for Node's file functions: `what` is the fact, such as "cannot create the folder". */
export function fileError(error: unknown, what: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = fileCodes[code]
  if (known === undefined) return error
  return new AppError(known[0], `${what}: ${known[1]}`, { cause: error })
}
