// PyTorch, transformers and PEFT in an environment of their own. It is made once under .cache/bench and used again;
// where it cannot be made, the benches run without it and say why.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AppError } from '../app/shared/errors.ts'
import { runCommand, type CommandResult } from '../scripts/support/command.ts'
import { lastLine, parseReport, versionReport } from './report-line.ts'

/** Exact, so that a ratio means the same next year. */
const peerRequirements: readonly string[] = [
  'torch==2.15.0',
  'transformers==5.24.0',
  'peft==0.20.0',
  'gguf==0.19.0',
  'accelerate==1.15.0',
]

export type Peer =
  | {
      readonly kind: 'ready'
      readonly python: string
      readonly versions: Readonly<Record<string, string>>
    }
  | { readonly kind: 'skipped'; readonly reason: string }

const program = join(import.meta.dirname, 'peer.py')

/** An interpreter that was asked for must do; without one, the environment is made. */
export async function openPeer(python: string | null): Promise<Peer> {
  if (python !== null) {
    const versions = await readVersions(python)
    if (versions.kind === 'ready') return versions
    throw new AppError('unavailable', `--python ${python}: ${versions.reason}`)
  }
  const made = await makeEnvironment({
    folder: resolve('.cache/bench/peer'),
    requirements: peerRequirements,
    python: process.platform === 'win32' ? 'python' : 'python3',
  })
  return made.kind === 'ready' ? readVersions(made.python) : made
}

/** Runs peer.py; `unavailable` with the last words where it fails. */
export async function runPeer(python: string, args: readonly string[]): Promise<string> {
  const { code, output } = await runProgram(python, [program, ...args])
  if (code === 0) return output
  throw new AppError('unavailable', `PyTorch's process failed (${code}): ${lastLine(output)}`)
}

async function readVersions(python: string): Promise<Peer> {
  const { code, output } = await runProgram(python, [program, 'versions'])
  if (code !== 0) return { kind: 'skipped', reason: lastLine(output) }
  return { kind: 'ready', python, versions: parseReport(output, versionReport).versions }
}

interface EnvironmentOptions {
  readonly folder: string
  readonly requirements: readonly string[]
  /** The interpreter that makes it. */
  readonly python: string
}

export type Environment =
  | { readonly kind: 'ready'; readonly python: string }
  | { readonly kind: 'skipped'; readonly reason: string }

/** A virtual environment with exactly these packages, made unless it is there. */
export async function makeEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { folder, requirements } = options
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  // Written last, so that an interrupted installation is not taken for a whole one.
  const list = join(folder, 'installed.txt')
  const wanted = requirements.join('\n')
  if (existsSync(python) && existsSync(list) && readFileSync(list, 'utf8') === wanted) {
    return { kind: 'ready', python }
  }
  console.error(`making ${folder} with ${requirements.join(', ')}; once, some minutes`)
  mkdirSync(folder, { recursive: true })
  const made = await runProgram(options.python, ['-m', 'venv', '--clear', folder])
  if (made.code !== 0) return failed('no environment could be made', made)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '1']
  const installed = await runProgram(python, [...pip, ...requirements])
  if (installed.code !== 0) return failed('pip could not install', installed)
  writeFileSync(list, wanted)
  return { kind: 'ready', python }
}

/** pip ends with “no matching distribution” where it reached no index at all; the lines before say so. */
function failed(what: string, { output }: CommandResult): Environment {
  const offline = /connection|name resolution|network is unreachable|timed out/i.test(output)
  const hint = offline ? ' (the package index could not be reached)' : ''
  return { kind: 'skipped', reason: `${what}: ${lastLine(output)}${hint}` }
}

/** A program that is not there fails like one that ends with an error. */
async function runProgram(name: string, args: readonly string[]): Promise<CommandResult> {
  try {
    return await runCommand(name, args)
  } catch (error) {
    const output = error instanceof Error ? error.message : String(error)
    return { code: 127, output, seconds: 0 }
  }
}
