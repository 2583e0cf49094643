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
    /** Optimiser state, as the optimiser serialises it. */
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

/** An optimiser for `adapter` that goes on from a file; `corrupt` when that belongs to another shape or is damaged. */
export async function readOptimiser(path: string, adapter: Adapter): Promise<AdamW> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw translate(error, path)
  })
  return adamw(adapter, bytes)
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
