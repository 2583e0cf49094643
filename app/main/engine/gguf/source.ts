// Random access to the bytes of a GGUF file, on disk or in memory.
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { AppError, isAppError } from '../../../shared/errors.ts'

export interface ByteSource extends Disposable {
  readonly sizeBytes: number
  /** Exactly `length` bytes; the caller has checked that they exist. */
  read(offset: number, length: number): Uint8Array
}

export function memorySource(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.byteLength,
    read: (offset, length) => bytes.subarray(offset, offset + length),
    [Symbol.dispose]: () => undefined,
  }
}

export function fileSource(path: string): ByteSource {
  const file = openFile(path)
  const sizeBytes = fstatSync(file).size
  return {
    sizeBytes,
    read: (offset, length) => readExactly(file, offset, length),
    [Symbol.dispose]: () => closeSync(file),
  }
}

function openFile(path: string): number {
  try {
    // Opening a pipe would wait for a writer, and a folder opens but cannot be read.
    if (statSync(path).isFile()) return openSync(path, 'r')
    throw new AppError('unavailable', `${path} is not a file`)
  } catch (cause) {
    if (isAppError(cause)) throw cause
    const code = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'not-found' : 'unavailable'
    throw new AppError(code, `the file ${path} cannot be opened`, { cause })
  }
}

function readExactly(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const count = readSome(file, bytes, { done, offset })
    if (count === 0) throw new AppError('corrupt', `the file ended at byte ${offset + done}`)
    done += count
  }
  return bytes
}

function readSome(
  file: number,
  bytes: Uint8Array,
  { done, offset }: { readonly done: number; readonly offset: number },
): number {
  try {
    return readSync(file, bytes, done, bytes.byteLength - done, offset + done)
  } catch (cause) {
    const message = `the file cannot be read at byte ${offset + done}`
    throw new AppError('unavailable', message, { cause })
  }
}
