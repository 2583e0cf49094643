/** The closed list of reasons that may cross a boundary; the renderer and the gateway map each one. */
export const errorCodes = [
  'internal',
  'invalid-input',
  'not-found',
  'conflict',
  'cancelled',
  'busy',
  'unavailable',
  'unsupported',
  'corrupt',
  'too-large',
  'out-of-memory',
  'disk-full',
  'read-only',
  'network',
  'timeout',
  'refused',
] as const

export type ErrorCode = (typeof errorCodes)[number]

export interface AppErrorOptions {
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** An expected failure: a code for programs and a message that states the fact for people. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.data = options.data ?? {}
  }
}

export function isAppError(value: unknown): value is AppError {
  return value instanceof AppError
}

/** Turns anything thrown into an `AppError`; what was not expected becomes `internal`. */
export function toAppError(value: unknown): AppError {
  if (isAppError(value)) return value
  const message = value instanceof Error ? value.message : String(value)
  return new AppError('internal', message, { cause: value })
}
