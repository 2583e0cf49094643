import { AppError, type ErrorCode } from '../../shared/errors.ts'
import { systemCode } from './files.ts'

interface Expected {
  readonly haveBytes: number
  readonly sizeBytes: number
}

const refusals: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  401: ['refused', 'the server wants a login'],
  403: ['refused', 'the server refuses to hand out this file'],
  404: ['not-found', 'the server does not have this file'],
  410: ['not-found', 'the server no longer has this file'],
  416: ['corrupt', 'the server cannot go on from the part that is here'],
  429: ['busy', 'the server asks to come back later (too many requests)'],
}

/** Judges the answer's head; returns the byte at which its body begins in the file. */
export async function checkAnswer(
  answer: Response,
  expected: Expected,
): Promise<{ start: number }> {
  const problem = judgeHead(answer, expected)
  if (problem === null) return { start: answer.status === 206 ? expected.haveBytes : 0 }
  await answer.body?.cancel()
  throw problem
}

function judgeHead(answer: Response, { haveBytes, sizeBytes }: Expected): AppError | null {
  if (answer.status !== 200 && answer.status !== 206) return refusal(answer)
  const startsAt = answer.status === 206 ? rangeStart(answer) : 0
  if (answer.status === 206 && startsAt !== haveBytes) {
    const message = `${answer.url} answered from byte ${startsAt}, asked for ${haveBytes}`
    return new AppError('network', message)
  }
  const length = answer.headers.get('content-length')
  // With a content encoding the length is of the encoded bytes and says nothing.
  if (length === null || answer.headers.has('content-encoding')) return null
  const offered = startsAt + Number(length)
  if (offered === sizeBytes) return null
  return new AppError('corrupt', `${answer.url} offers ${offered} bytes, expected ${sizeBytes}`)
}

function refusal(answer: Response): AppError {
  const known = refusals[answer.status]
  // 416: the part is thrown away, so the next try starts from nothing.
  const passing = [416, 429].includes(answer.status) || answer.status >= 500
  const [code, reason] = known ?? ['network', 'the server could not answer']
  return new AppError(code, `${reason}: HTTP ${answer.status} from ${answer.url}`, {
    data: { status: answer.status, passing },
  })
}

function rangeStart(answer: Response): number {
  const match = /^bytes (\d+)-/.exec(answer.headers.get('content-range') ?? '')
  return match === null ? Number.NaN : Number(match[1])
}

/** Names what went wrong below HTTP. A connection that once gave bytes is worth another try. */
export function connectionError(error: unknown, url: string, haveBytes: number): AppError {
  const { host } = new URL(url)
  const options = { cause: error, data: { passing: haveBytes > 0 } }
  switch (systemCode(error)) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new AppError('network', `no network, or ${host} does not exist`, options)
    case 'ECONNREFUSED':
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
    case 'ETIMEDOUT':
      return new AppError('network', `${host} cannot be reached`, options)
    default:
      return new AppError('network', `the connection to ${host} was cut`, {
        cause: error,
        data: { passing: true },
      })
  }
}
