// A resumable download: bytes gather in FILE.part, which becomes FILE only when its hash is right.
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import pRetry from 'p-retry'
import { AppError, isAppError, toAppError } from '../../shared/errors.ts'
import { fileError, inMegabytes, requireRoom, sha256OfFile, sizeOrZero } from './files.ts'
import { checkAnswer, connectionError } from './http-answer.ts'

export interface DownloadRequest {
  readonly url: string
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
  readonly onBytes?: (receivedBytes: number) => void
  readonly signal?: AbortSignal
  readonly patience?: Patience
}

/** How long a download waits and how often it tries again. */
export interface Patience {
  readonly retries: number
  readonly pauseMs: number
  /** Without one more byte for this long, the connection counts as cut. */
  readonly stallMs: number
}

const usualPatience: Patience = { retries: 4, pauseMs: 1000, stallMs: 30_000 }

/** Fetches a file, going on where an earlier try stopped. Leaves either the right file or a part. */
export async function download(request: DownloadRequest): Promise<void> {
  const part = `${request.path}.part`
  const patience = request.patience ?? usualPatience
  const folder = dirname(request.path)
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw fileError(error, folder)
  })
  const haveBytes = await dropUselessPart(part, request.sizeBytes)
  await requireRoom(folder, request.sizeBytes - haveBytes)
  await pRetry(() => fetchRest(request, part), {
    retries: patience.retries,
    minTimeout: patience.pauseMs,
    shouldRetry: ({ error }) => isPassing(error),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  }).catch((error: unknown) => {
    throw request.signal?.aborted === true ? cancelled(error) : toAppError(error)
  })
  await requireHash(part, request)
  await rename(part, request.path)
}

async function dropUselessPart(part: string, sizeBytes: number): Promise<number> {
  const haveBytes = await sizeOrZero(part)
  if (haveBytes <= sizeBytes) return haveBytes
  await rm(part)
  return 0
}

/** One request for the bytes that are missing; throws a passing error when it was cut short. */
async function fetchRest(request: DownloadRequest, part: string): Promise<void> {
  const haveBytes = await sizeOrZero(part)
  if (haveBytes === request.sizeBytes) return
  const stall = stallGuard(request)
  try {
    const answer = await fetch(request.url, {
      headers: haveBytes > 0 ? { range: `bytes=${haveBytes}-` } : {},
      signal: stall.signal,
    })
    const { start } = await checkAnswer(answer, { haveBytes, sizeBytes: request.sizeBytes })
    if (answer.body === null) throw new AppError('network', 'the server sent no content')
    await using file = await openAt(part, start)
    await copyBody(answer.body, file, { path: part, start, request, touch: stall.touch })
  } catch (error) {
    if (!isAppError(error)) throw connectionError(error, request.url, haveBytes)
    if (error.data['status'] === 416) await rm(part, { force: true })
    throw error
  } finally {
    stall.stop()
  }
  const endBytes = await sizeOrZero(part)
  if (endBytes < request.sizeBytes) {
    const got = `${inMegabytes(endBytes)} of ${inMegabytes(request.sizeBytes)}`
    throw new AppError('network', `the connection was cut after ${got}`, {
      data: { passing: true },
    })
  }
}

async function openAt(part: string, start: number): Promise<FileHandle> {
  try {
    return await open(part, start === 0 ? 'w' : 'a')
  } catch (error) {
    throw fileError(error, part)
  }
}

interface CopyTarget {
  readonly path: string
  readonly start: number
  readonly request: DownloadRequest
  readonly touch: () => void
}

async function copyBody(
  body: ReadableStream<Uint8Array>,
  file: FileHandle,
  { path, start, request, touch }: CopyTarget,
): Promise<void> {
  let receivedBytes = start
  for await (const chunk of body) {
    touch()
    receivedBytes += chunk.length
    if (receivedBytes > request.sizeBytes) {
      throw new AppError('corrupt', `${request.url} sent more than ${request.sizeBytes} bytes`)
    }
    try {
      await file.appendFile(chunk)
    } catch (error) {
      throw fileError(error, path)
    }
    request.onBytes?.(receivedBytes)
  }
}

async function requireHash(part: string, request: DownloadRequest): Promise<void> {
  const found = await sha256OfFile(part, request.signal)
  if (found === request.sha256) return
  await rm(part)
  throw new AppError(
    'corrupt',
    `${request.url} has SHA-256 ${found}, expected ${request.sha256}; the file was thrown away`,
    { data: { found, expected: request.sha256 } },
  )
}

/** A signal that fires when no byte came for a while, or when the caller gives up. */
function stallGuard(request: DownloadRequest): {
  readonly signal: AbortSignal
  readonly touch: () => void
  readonly stop: () => void
} {
  const controller = new AbortController()
  const { stallMs } = request.patience ?? usualPatience
  const onStall = (): void => {
    const message = `no data from ${request.url} for ${stallMs / 1000} s`
    controller.abort(new AppError('timeout', message, { data: { passing: true } }))
  }
  const timer = setTimeout(onStall, stallMs)
  const signals = [controller.signal, ...(request.signal === undefined ? [] : [request.signal])]
  return {
    signal: AbortSignal.any(signals),
    touch: () => void timer.refresh(),
    stop: () => {
      clearTimeout(timer)
    },
  }
}

function isPassing(error: Error): boolean {
  return isAppError(error) && error.data['passing'] === true
}

function cancelled(cause: unknown): AppError {
  return new AppError('cancelled', 'the download was stopped; it goes on from here next time', {
    cause,
  })
}
