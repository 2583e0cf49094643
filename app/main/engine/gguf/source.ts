// Random access to the bytes of a GGUF file, on disk or in memory.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { AppError } from '../../../shared/errors.ts'

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
    return openSync(path, 'r')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'not-found' : 'unavailable'
    throw new AppError(code, `the file ${path} cannot be opened`, { cause })
  }
}

function readExactly(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const count = readSync(file, bytes, done, length - done, offset + done)
    if (count === 0) throw new AppError('corrupt', `the file ended at byte ${offset + done}`)
    done += count
  }
  return bytes
}
