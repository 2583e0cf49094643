import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat, statfs } from 'node:fs/promises'
import { AppError, isAppError } from '../../shared/errors.ts'

const mebibyte = 1024 * 1024

export function inMegabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(sizeBytes < 1e7 ? 1 : 0)} MB`
}

/** The SHA-256 of a file in lower-case hex. */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: mebibyte, signal })) {
    hash.update(chunk as Buffer)
  }
  return hash.digest('hex')
}

/** A file's size in bytes; 0 when there is none. */
export async function sizeOrZero(path: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return { size: 0 }
    throw fileError(error, path)
  })
  return found.size
}

/** Throws `disk-full` when a folder's disk has less room than asked for. */
export async function requireRoom(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const freeBytes = bavail * bsize
  if (freeBytes >= neededBytes) return
  throw new AppError(
    'disk-full',
    `${inMegabytes(neededBytes)} are needed in ${folder}, ${inMegabytes(freeBytes)} are free`,
    { data: { neededBytes, freeBytes } },
  )
}

/** Throws `corrupt` unless the file begins like a GGUF of a version that llama.cpp still reads. */
export async function requireGguf(path: string): Promise<void> {
  const head = Buffer.alloc(24)
  const file = await open(path, 'r').catch((error: unknown) => {
    throw fileError(error, path)
  })
  try {
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    const magic = head.toString('latin1', 0, 4)
    if (bytesRead < head.length || magic !== 'GGUF') {
      throw new AppError('corrupt', `${path} is not a GGUF file: it begins with ${describe(magic)}`)
    }
  } finally {
    await file.close()
  }
  const version = head.readUInt32LE(4)
  if (version < 2 || version > 3) {
    throw new AppError('unsupported', `${path} is GGUF version ${version}, expected 2 or 3`)
  }
  if (head.readBigUInt64LE(8) === 0n) {
    throw new AppError('corrupt', `${path} holds no tensors, so it is not a model`)
  }
}

/** Turns an error of the file system into one with a reason in words. */
export function fileError(error: unknown, path: string): AppError {
  if (isAppError(error)) return error
  const options = { cause: error }
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new AppError('disk-full', `the disk is full: ${path} could not be written`, options)
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new AppError('read-only', `no permission to use ${path}`, options)
    case 'ENOENT':
      return new AppError('not-found', `there is no file ${path}`, options)
    default:
      return new AppError('internal', `${path}: ${String(error)}`, options)
  }
}

/** The code (`ENOSPC`, `ECONNRESET`) of an error or of what caused it. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^E[A-Z_]+$/.test(code) ? code : systemCode(error.cause)
}

function describe(text: string): string {
  return JSON.stringify(text.replaceAll(/[^\x20-\x7e]/g, '?'))
}
