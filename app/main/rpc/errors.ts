import { ORPCError } from '@orpc/server'
import { toAppError, type ErrorCode } from '../../shared/errors.ts'

const statuses: Record<ErrorCode, number> = {
  internal: 500,
  'invalid-input': 400,
  'not-found': 404,
  conflict: 409,
  cancelled: 499,
  busy: 409,
  unavailable: 503,
  unsupported: 501,
  corrupt: 422,
  'too-large': 413,
  'out-of-memory': 507,
  'disk-full': 507,
  'read-only': 403,
  network: 502,
  timeout: 504,
  refused: 409,
}

/** What crosses the contract: the code as it is, the fact as the message, the data as they are. */
export function toRpcError(thrown: unknown): ORPCError<string, unknown> {
  if (thrown instanceof ORPCError) return thrown
  const error = toAppError(thrown)
  return new ORPCError(error.code, {
    status: statuses[error.code],
    message: error.message,
    data: error.data,
    cause: error,
  })
}
