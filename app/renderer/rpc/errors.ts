import { ORPCError } from '@orpc/client'
import { AppError, errorCodes, isAppError, type ErrorCode } from '../../shared/errors.ts'
import type { Messages } from '../ui/messages/index.ts'

/** oRPC's own codes, for failures that never reached a handler of Hone. */
const transportCodes: Readonly<Record<string, ErrorCode>> = {
  BAD_REQUEST: 'invalid-input',
  UNPROCESSABLE_CONTENT: 'invalid-input',
  UNAUTHORIZED: 'refused',
  FORBIDDEN: 'refused',
  NOT_FOUND: 'not-found',
  CONFLICT: 'conflict',
  TIMEOUT: 'timeout',
  PAYLOAD_TOO_LARGE: 'too-large',
  TOO_MANY_REQUESTS: 'busy',
  CLIENT_CLOSED_REQUEST: 'cancelled',
  SERVICE_UNAVAILABLE: 'unavailable',
  NOT_IMPLEMENTED: 'unsupported',
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && (errorCodes as readonly string[]).includes(value)
}

function codeInData(data: unknown): ErrorCode | null {
  if (typeof data !== 'object' || data === null || !('code' in data)) return null
  return isErrorCode(data.code) ? data.code : null
}

/** What came over the wire, as the one error the interface knows. */
export function toClientError(value: unknown): AppError {
  if (isAppError(value)) return value
  if (value instanceof ORPCError) {
    const code = isErrorCode(value.code)
      ? value.code
      : (codeInData(value.data) ?? transportCodes[value.code] ?? 'internal')
    return new AppError(code, value.message, { cause: value })
  }
  if (value instanceof DOMException && value.name === 'AbortError') {
    return new AppError('cancelled', value.message, { cause: value })
  }
  const message = value instanceof Error ? value.message : String(value)
  return new AppError('internal', message, { cause: value })
}

export interface ErrorText {
  /** What happened and what to do, in the user's language. */
  sentence: string
  /** The host's own statement of the fact; null when it adds nothing. */
  fact: string | null
}

/** The one place where codes become words. */
export function errorText(error: AppError, messages: Messages): ErrorText {
  if (isConnectionLoss(error)) return { sentence: messages.connection.callFailed, fact: null }
  const sentence = messages.errors[error.code]
  const fact = error.message.trim()
  return { sentence, fact: fact === '' || fact === sentence ? null : fact }
}

/** The bar at the top already says so; a notice would say it twice. */
export function isConnectionLoss(error: AppError): boolean {
  return error.data['connection'] === 'lost'
}
