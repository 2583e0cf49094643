// A small file that is there while native code runs in this process: what is left of it at the next start says that
// the process ended in the middle. Native code that crashes takes its whole process along, so nobody can say it then.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { AppError } from '../../shared/errors.ts'

export interface RunningMarker {
  /** The file is there from before `work` begins until after it has ended, however it ends. */
  around<T>(work: () => Promise<T>): Promise<T>
}

const leftMarkerSchema = z.object({
  pid: z.number().int(),
  /** When the work began, milliseconds. */
  startedAt: z.number(),
})
export type LeftMarker = z.infer<typeof leftMarkerSchema>

export function runningMarker(path: string): RunningMarker {
  let running = 0
  return {
    async around(work) {
      if (running === 0) write(path)
      running += 1
      try {
        return await work()
      } finally {
        running -= 1
        if (running === 0) rmSync(path, { force: true })
      }
    },
  }
}

/** Written under another name first: a marker is whole or absent. The page cache outlives a crashed process. */
function write(path: string): void {
  const marker: LeftMarker = { pid: process.pid, startedAt: Date.now() }
  const partial = `${path}.tmp`
  try {
    writeFileSync(partial, JSON.stringify(marker), { mode: 0o600 })
    renameSync(partial, path)
  } catch (cause) {
    throw new AppError('unavailable', `the file ${path} could not be written`, { cause })
  }
}

/** What an earlier process left; null when it ended in order. Call while no other process can use the folder. */
export function readLeftMarker(path: string): LeftMarker | null {
  const text = readText(path)
  if (text === null) return null
  // Whatever is in it, it is there: a damaged one counts with what is known of it.
  return leftMarkerSchema.safeParse(parsed(text)).data ?? { pid: 0, startedAt: Date.now() }
}

/** Fails with `read-only` where the folder cannot be changed. */
export function removeLeftMarker(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (cause) {
    throw new AppError('read-only', `the file ${path} could not be removed`, { cause })
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new AppError('unavailable', `the file ${path} could not be read`, { cause: error })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
