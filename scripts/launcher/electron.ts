// Electron's package brings no program; its own install script fetches it where a network allows.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'

const installTimeoutMs = 45_000
// After a failure the next starts go straight to the browser for a day.
const restMs = 24 * 60 * 60 * 1000

export interface ElectronSearch {
  readonly root: string
  readonly environment: NodeJS.ProcessEnv
  readonly say: (sentence: string) => void
}

/** The path of Electron's program, fetching it within a deadline; null when there is none. */
export async function findElectron(search: ElectronSearch): Promise<string | null> {
  if (search.environment['HONE_NO_ELECTRON'] === '1') return null
  const found = installedElectron(search.root)
  if (found !== null || failedLately(search.root)) return found
  search.say('Fetching the Electron program …')
  await runInstaller(search.root)
  const fetched = installedElectron(search.root)
  if (fetched === null) {
    rememberFailure(search.root)
    search.say('The Electron program could not be fetched; Hone opens in the browser instead.')
  }
  return fetched
}

/** Where `node_modules/electron` has its program, if it does. */
export function installedElectron(root: string): string | null {
  const folder = join(root, 'node_modules/electron')
  const note = join(folder, 'path.txt')
  if (!existsSync(note)) return null
  const program = join(folder, 'dist', readFileSync(note, 'utf8').trim())
  return existsSync(program) ? program : null
}

function runInstaller(root: string): Promise<void> {
  const script = join(root, 'node_modules/electron/install.js')
  const { promise, resolve } = Promise.withResolvers<void>()
  if (!existsSync(script)) return Promise.resolve()
  // What counts is whether the program is there afterwards, so the exit code is not looked at.
  const child = spawn(process.execPath, [script], { stdio: 'ignore', timeout: installTimeoutMs })
  child.on('error', () => {
    resolve()
  })
  child.on('close', () => {
    resolve()
  })
  return promise
}

const failureNote = (root: string): string => join(root, '.cache/electron-not-fetched')

function failedLately(root: string): boolean {
  const note = failureNote(root)
  return existsSync(note) && Date.now() - statSync(note).mtimeMs < restMs
}

function rememberFailure(root: string): void {
  mkdirSync(dirname(failureNote(root)), { recursive: true })
  writeFileSync(failureNote(root), new Date().toISOString())
}
