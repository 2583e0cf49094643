import { randomUUID } from 'node:crypto'
import {
  closeSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../shared/errors.ts'
import { fileError } from './sqlite-errors.ts'

interface Owner {
  readonly pid: number
  /** Tells a process from a later one with the same number; null where the system does not say. */
  readonly birth: string | null
}

// Locks of this process: its own number in a lock file of another run must not look alive.
const held = new Set<string>()

// A lock is created and filled in two calls; an empty one that is older was left by a crash between.
const fillingMs = 5000

/** Takes `hone.lock` in the data folder; fails with `busy` while another living process holds it. */
export function takeLock(dataDir: string): Disposable {
  // The real path: the same folder under another name must not look free.
  const path = join(realpathSync(dataDir), 'hone.lock')
  const own = JSON.stringify({ pid: process.pid, birth: birthOf(process.pid) })
  while (!tryCreate(path, own)) {
    const found = readLock(path)
    if (found === null) continue
    if (isHeld(path, found)) throw busy(dataDir, parseOwner(found)?.pid ?? null)
    removeStale({ path, found, dataDir })
  }
  held.add(path)
  return {
    [Symbol.dispose]: () => {
      if (held.delete(path) && readLock(path) === own) rmSync(path, { force: true })
    },
  }
}

function tryCreate(path: string, content: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      writeSync(file, content)
    } catch (error) {
      rmSync(path, { force: true })
      throw error
    } finally {
      closeSync(file)
    }
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw fileError(error, `cannot create the lock file ${path}`)
  }
}

/** The lock's content, null when it is gone. */
function readLock(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw fileError(error, `cannot read the lock file ${path}`)
  }
}

function isHeld(path: string, content: string): boolean {
  if (held.has(path)) return true
  const owner = parseOwner(content)
  if (owner === null) return ageMs(path) < fillingMs
  if (owner.pid === process.pid) return false
  if (!isAlive(owner.pid)) return false
  const birth = birthOf(owner.pid)
  return owner.birth === null || birth === null || owner.birth === birth
}

/** Moves a stale lock aside first, so that a lock taken in this very moment is noticed and put back. */
function removeStale(stale: { path: string; found: string; dataDir: string }): void {
  const aside = `${stale.path}.${randomUUID()}`
  try {
    renameSync(stale.path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw fileError(error, `cannot remove the stale lock file ${stale.path}`)
  }
  const moved = readLock(aside)
  if (moved === stale.found) {
    rmSync(aside, { force: true })
    return
  }
  renameSync(aside, stale.path)
  throw busy(stale.dataDir, parseOwner(moved ?? '')?.pid ?? null)
}

function busy(dataDir: string, pid: number | null): AppError {
  const who = pid === null ? 'another process' : `process ${pid}`
  return new AppError('busy', `the data folder ${dataDir} is in use by ${who}`, { data: { pid } })
}

function parseOwner(content: string): Owner | null {
  let owner: unknown
  try {
    owner = JSON.parse(content)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
  if (typeof owner !== 'object' || owner === null || !('pid' in owner)) return null
  if (typeof owner.pid !== 'number' || !Number.isInteger(owner.pid) || owner.pid <= 0) return null
  const birth = 'birth' in owner && typeof owner.birth === 'string' ? owner.birth : null
  return { pid: owner.pid, birth }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** Start of the system and of the process within it, where /proc tells. */
function birthOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold spaces; the start time is the 20th field after it.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return started === undefined ? null : `${boot} ${started}`
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null
    throw error
  }
}

function ageMs(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? Infinity : Date.now() - stats.mtimeMs
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null
}
