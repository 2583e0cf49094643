// Child processes under Electron, whose program may not be run as Node: `utilityProcess` in the shape that the host takes.
import type { ForkOptions } from 'electron'

/** What is used of Electron's `UtilityProcess`; a fake in tests. */
export interface UtilityChild {
  readonly pid?: number | undefined
  postMessage(message: unknown): void
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'exit', listener: (code: number) => void): unknown
  kill(): boolean
}

export interface UtilityProcesses {
  fork(script: string, args: string[], options: ForkOptions): UtilityChild
}

/** Starts scripts as processes of their own. Only after the app is ready. */
export function utilityChildren(electron: UtilityProcesses) {
  return (script: string, args: readonly string[]) => {
    const child = electron.fork(script, [...args], {
      serviceName: 'Hone trainer',
      stdio: ['ignore', 'ignore', 'inherit'],
      // The kernels were compiled on this machine and have no signature.
      allowLoadingUnsignedLibraries: true,
    })
    return {
      pid: child.pid ?? null,
      send: (message: unknown) => child.postMessage(message),
      onMessage: (listener: (message: unknown) => void) => void child.on('message', listener),
      // Electron tells the code alone, also of a signal.
      onExit: (listener: (end: string) => void) =>
        void child.once('exit', (code) => listener(`exit code ${code}`)),
      kill: () => void child.kill(),
    }
  }
}
