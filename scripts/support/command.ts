import { spawn } from 'node:child_process'

export interface CommandResult {
  readonly code: number
  readonly output: string
  readonly seconds: number
}

export interface CommandOptions {
  /** Show the output while it comes instead of collecting it. */
  readonly live?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program to its end. A signal counts as failure; only a missing program throws. */
export function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const started = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
  const child = spawn(program, [...args], {
    stdio: options.live === true ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  child.on('error', reject)
  child.on('close', (code) => {
    resolve({ code: code ?? 1, output, seconds: (performance.now() - started) / 1000 })
  })
  return promise
}
