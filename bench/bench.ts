// What every bench is: a name, a line that says what it measures, and a run that ends in a table and JSON.
import { join } from 'node:path'
import { AppError } from '../app/shared/errors.ts'
import { runCommand } from '../scripts/support/command.ts'
import { lastLine } from './report-line.ts'

export interface BenchOptions {
  readonly modelPath: string
  /** Null = each bench's own. */
  readonly threads: readonly number[] | null
  /** Input tokens of a sample; null = each bench's own. */
  readonly tokens: readonly number[] | null
  readonly rounds: number
  /** Training steps measured in each process. */
  readonly steps: number
  /** An interpreter with the peer's packages; null = make one. */
  readonly python: string | null
  /** A larger model for `growth`. */
  readonly secondModelPath: string | null
}

export interface BenchResult {
  /** What --json writes beside the machine. */
  readonly json: { readonly cases: readonly unknown[] } & Readonly<Record<string, unknown>>
  /** Markdown, for the terminal and docs/performance.md. */
  readonly text: string
  /** SVG by file name, for docs/. */
  readonly charts: Readonly<Record<string, string>>
  /** Instruction set of our kernels where they ran. */
  readonly kernels: string | null
  /** Versions of what was measured beside us. */
  readonly libraries: Readonly<Record<string, string>>
}

export interface Bench {
  readonly line: string
  readonly run: (options: BenchOptions) => Promise<BenchResult>
}

/** Runs one of our own measuring processes and returns what it printed. */
export async function runOwn(program: string, options: object): Promise<string> {
  const file = join(import.meta.dirname, program)
  const { code, output } = await runCommand(process.execPath, [file, JSON.stringify(options)])
  if (code === 0) return output
  throw new AppError('unavailable', `${program} failed (${code}): ${lastLine(output)}`)
}

/** Where a person follows a long bench; the result alone goes to standard output. */
export function progress(line: string): void {
  console.error(line)
}
