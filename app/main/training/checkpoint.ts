// A candidate's two files on disk, so that a kill at any moment leaves whole files only: each is written under a
// temporary name, synced and renamed. An adapter without its optimiser state is complete, only slower to go on from.
import { open, readFile, rename, rm } from 'node:fs/promises'
import { AppError } from '../../shared/errors.ts'
import type { Adapter, AdamW } from '../engine/index.ts'
import { adamw } from '../engine/index.ts'

export interface CheckpointFiles {
  readonly adapterPath: string
  readonly statePath: string
}

/** Nothing half-written stays behind an error; earlier files under these names are replaced. */
export async function writeCheckpoint(
  files: CheckpointFiles,
  content: {
    /** Optimiser state and value head, from `joinState`. */
    readonly state: Uint8Array
    /** Writes the adapter's file, by itself all or nothing. */
    readonly writeAdapter: (path: string) => Promise<void>
  },
): Promise<void> {
  const temporary = `${files.statePath}.partial`
  try {
    await writeSynced(temporary, content.state)
    await content.writeAdapter(files.adapterPath)
    await rename(temporary, files.statePath)
  } catch (error) {
    await rm(temporary, { force: true })
    throw translate(error, files.statePath)
  }
}

/** What a run goes on from beside the adapter. */
export interface TrainerState {
  readonly optimiser: AdamW
  /** The value head's bytes; null where no run of `ppo-gae` has made one. */
  readonly valueHead: Uint8Array | null
}

/** Reads a state for `adapter`; `corrupt` when it belongs to another shape or is damaged. */
export async function readState(path: string, adapter: Adapter): Promise<TrainerState> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw translate(error, path)
  })
  const { optimiser, valueHead } = splitState(bytes)
  return { optimiser: adamw(adapter, optimiser), valueHead }
}

/** "HVAL": the last word of a state that holds a value head. */
const valueMagic = 0x4c415648
const trailerBytes = 8

/** Optimiser state, then the value head if there is one, its size and the magic; without one the first part alone. */
export function joinState(optimiser: Uint8Array, valueHead: Uint8Array | null): Uint8Array {
  if (valueHead === null) return optimiser
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(valueHead.byteLength, 0)
  trailer.writeUInt32LE(valueMagic, 4)
  return Buffer.concat([optimiser, valueHead, trailer])
}

function splitState(bytes: Buffer): {
  readonly optimiser: Uint8Array
  readonly valueHead: Uint8Array | null
} {
  const end = bytes.byteLength - trailerBytes
  if (end < 0 || bytes.readUInt32LE(end + 4) !== valueMagic) {
    return { optimiser: bytes, valueHead: null }
  }
  const start = end - bytes.readUInt32LE(end)
  if (start < 0) throw new AppError('corrupt', 'the value head is larger than its file')
  return { optimiser: bytes.subarray(0, start), valueHead: bytes.subarray(start, end) }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'w')
  await file.writeFile(bytes)
  await file.sync()
}

function translate(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return new AppError('not-found', `${path} is not there`, { cause: error })
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new AppError('disk-full', `no room on the disk for ${path}`, { cause: error })
  }
  if (code === 'EROFS' || code === 'EACCES') {
    return new AppError('read-only', `${path} cannot be written`, { cause: error })
  }
  return error
}
