import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { AppError } from '../../app/shared/errors.ts'

/** How long a child may take to end after it was asked to. */
const politeMs = 5000

/** The processes that the launcher started; ending it ends them all. */
export class Children {
  readonly #running = new Map<ChildProcess, Promise<number>>()

  /** Starts a program whose end is watched. `stdout` is a pipe; errors go to the terminal. */
  start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const child = spawn(program, [...args], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    })
    const ended = new Promise<number>((resolve) => {
      child.on('error', (error) => {
        console.error(`${program} could not be started: ${error.message}`)
        resolve(1)
      })
      child.on('close', (code) => {
        resolve(code ?? 1)
      })
    })
    this.#running.set(child, ended)
    void ended.then(() => this.#running.delete(child))
    return child
  }

  /** The exit code of a child, once it has ended. */
  ended(child: ChildProcess): Promise<number> {
    return this.#running.get(child) ?? Promise.resolve(child.exitCode ?? 1)
  }

  /** Asks every child to end, waits, and kills those that do not. */
  async stop(waitMs: number = politeMs): Promise<void> {
    const all = [...this.#running]
    for (const [child] of all) child.kill('SIGTERM')
    const timer = setTimeout(() => {
      this.killNow()
    }, waitMs)
    await Promise.all(all.map(([, ended]) => ended))
    clearTimeout(timer)
  }

  killNow(): void {
    for (const child of this.#running.keys()) child.kill('SIGKILL')
  }
}

const readyLine = /^Hone is ready at (\S+)$/

/** Passes a child's lines on and resolves with the address in its ready line. */
export function waitUntilReady(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (child.stdout === null) throw new AppError('internal', 'the host has no standard output')
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line)
    const address = readyLine.exec(line)?.[1]
    if (address !== undefined) resolve(address)
  })
  child.on('close', (code, signal) => {
    const how = signal === null ? `code ${code}` : signal
    reject(new AppError('unavailable', `Hone ended before it was ready (${how})`))
  })
  return promise
}
