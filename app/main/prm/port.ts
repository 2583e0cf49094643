// The one port of this folder: whoever owns a model answers these two questions.
import { AppError } from '../../shared/errors.ts'

export interface ScoreRequest {
  readonly system: string
  readonly user: string
  /** Begins the assistant's answer. */
  readonly prefix: string
  readonly labels: string[]
}

export interface GenerateTextRequest {
  readonly system: string
  readonly user: string
  readonly temperature: number
  readonly seed: number
  readonly maxTokens: number
}

export interface CallOptions {
  readonly signal?: AbortSignal
}

export interface JudgePort {
  /** Log-probabilities (nats) of each label as the text that follows prompt and prefix. */
  readonly score: (request: ScoreRequest, options?: CallOptions) => Promise<{ logProbs: number[] }>
  readonly generate: (
    request: GenerateTextRequest,
    options?: CallOptions,
  ) => Promise<{ text: string }>
}

export const judgeTimeoutMs = 30_000

/** Rejects after the time-out even if the port never answers; the call is aborted then. */
export async function withTimeout<T>(
  call: (options: CallOptions) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const abort = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('timeout', `the judge gave no answer within ${timeoutMs} ms`))
      abort.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([call({ signal: abort.signal }), expired])
  } finally {
    clearTimeout(timer)
  }
}
