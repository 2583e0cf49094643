// A child process as the trainer needs it. Node's and Electron's differ; whoever starts the host says which it is.
import { fork } from 'node:child_process'

export interface Child {
  /** null when it could not be started. */
  readonly pid: number | null
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** Called once, with how it ended in words: `SIGSEGV`, `exit code 3`. */
  onExit(listener: (end: string) => void): void
  kill(): void
}

/** Starts a script as a process of its own with a channel for messages. */
export type SpawnChild = (script: string, args: readonly string[]) => Child

/** Node's own; not under Electron, whose program may not be run as Node. */
export const forkChild: SpawnChild = (script, args) => {
  const child = fork(script, args, {
    // Structured clones: the contract sends bytes as well as text.
    serialization: 'advanced',
    // A debugger's port or a test's loader is the parent's own.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  return {
    pid: child.pid ?? null,
    send(message) {
      // A child that has just died is noticed by its exit.
      if (child.connected) child.send(message as object, () => undefined)
    },
    onMessage: (listener) => void child.on('message', listener),
    onExit(listener) {
      child.once('error', (error) => {
        if (child.pid === undefined) listener(error.message)
      })
      child.once('exit', (code, signal) => listener(signal ?? `exit code ${code}`))
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
