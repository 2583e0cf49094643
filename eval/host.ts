import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { AppError } from '../app/shared/errors.ts'

export interface HostOptions {
  readonly modelPath: string
  readonly dataDir: string
  /** First seed of the replies; random where absent. */
  readonly seed?: number
  /** Binds the host to one core, where the system has a `taskset`; null or absent = it may use all. */
  readonly core?: number | null
  /** Stops the host; whatever talks to it then fails and cleans up. */
  readonly signal: AbortSignal
}

export interface RunningHost extends AsyncDisposable {
  readonly url: string
  /** The host's process. */
  readonly pid: number
}

const root = resolve(import.meta.dirname, '..')
const startMs = 120_000
/** Until a host that was asked to stop is killed. */
const stopMs = 20_000

/** Starts the real host on a free port and waits until its page can be opened. */
export async function startHost({
  modelPath,
  dataDir,
  signal,
  seed,
  core = null,
}: HostOptions): Promise<RunningHost> {
  signal.throwIfAborted()
  const parameters = ['--data-dir', dataDir, '--port', '0', '--model', modelPath, '--no-open']
  if (seed !== undefined) parameters.push('--seed', String(seed))
  const program = [process.execPath, 'app/main/host.ts', ...parameters]
  const [command = '', ...rest] = core === null ? program : boundTo(core, program)
  const child = spawn(command, rest, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, UV_THREADPOOL_SIZE: process.env['UV_THREADPOOL_SIZE'] ?? '12' },
  })
  // The host must not outlive this process, however it ends.
  const killChild = () => child.kill('SIGKILL')
  const stopChild = () => child.kill('SIGTERM')
  process.on('exit', killChild)
  signal.addEventListener('abort', stopChild)
  const dispose = async () => {
    await stop(child)
    process.off('exit', killChild)
    signal.removeEventListener('abort', stopChild)
  }
  try {
    return { url: await readyUrl(child), pid: child.pid ?? 0, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** A process that is bound to one core counts one, and so computes with one thread. */
function boundTo(core: number, program: readonly string[]): string[] {
  return ['taskset', '--cpu-list', String(core), ...program]
}

function readyUrl(child: ChildProcess): Promise<string> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new TypeError('the host was spawned without pipes')
  let lastWords = ''
  stderr.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-2000)
  })
  return new Promise((resolveUrl, reject) => {
    const timer = setTimeout(
      () => reject(new AppError('timeout', `the host was not ready within ${startMs / 1000} s`)),
      startMs,
    )
    createInterface({ input: stdout }).on('line', (line) => {
      const url = /Hone is ready at (\S+)/.exec(line)?.[1]
      if (url === undefined) return
      clearTimeout(timer)
      resolveUrl(url)
    })
    child.once('error', (cause) => {
      clearTimeout(timer)
      reject(new AppError('unavailable', `the host could not be started: ${cause.message}`))
    })
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      const end = signal ?? `exit code ${code}`
      reject(
        new AppError('unavailable', `the host ended (${end}) before it was ready. ${lastWords}`),
      )
    })
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await ended
  clearTimeout(timer)
}
