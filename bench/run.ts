// `npm run bench -- NAME`: measures, prints a table, and writes JSON and docs where asked.
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { AppError, toAppError } from '../app/shared/errors.ts'
import { defaultModelPath } from '../test/support/model.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { writeDocs } from './docs.ts'
import { gemm } from './gemm.ts'
import { growth } from './growth.ts'
import { describeMachine } from './machine.ts'
import { serve } from './serve.ts'
import { train } from './train.ts'

/** Which of the measuring options mean something to it. */
interface Entry {
  readonly bench: Bench
  readonly takes: readonly (keyof typeof measuring)[]
}

const measuring = {
  threads: ['--threads <list>', 'threads, with commas between several', counts],
  tokens: ['--tokens <list>', 'input tokens of a sample, with commas between several', counts],
  rounds: ['--rounds <n>', 'rounds in which the cases take turns', count, 3],
  steps: ['--steps <n>', 'training steps measured in each process', count, 5],
  python: ['--python <file>', 'an interpreter that has the peer’s packages'],
  secondModel: ['--second-model <file>', 'a larger GGUF to measure too'],
} as const

const entries: Readonly<Record<string, Entry>> = {
  train: { bench: train, takes: ['threads', 'tokens', 'rounds', 'steps', 'python'] },
  gemm: { bench: gemm, takes: ['threads', 'tokens', 'rounds', 'python'] },
  growth: { bench: growth, takes: ['threads', 'tokens', 'rounds', 'steps', 'secondModel'] },
  serve: { bench: serve, takes: [] },
}

interface Flags {
  model?: string
  json?: string
  writeDocs?: boolean
  threads?: number[]
  tokens?: number[]
  rounds?: number
  steps?: number
  python?: string
  secondModel?: string
}

const docsFile = resolve(import.meta.dirname, '../docs/performance.md')

/** Programs that wait to compute, on average of a minute; more than this is told before measuring. */
const quietLoad = 0.5

function count(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidArgumentError(`expected a whole number above 0, got “${text}”`)
}

function counts(text: string): number[] {
  return text.split(',').map(count)
}

function modelPathOf(flags: Flags): string {
  const path = flags.model ?? defaultModelPath()
  if (path !== null) return resolve(path)
  throw new AppError(
    'not-found',
    'no model: give --model FILE.gguf or HONE_MODEL, or run npm start once to fetch the default one',
  )
}

function optionsOf(flags: Flags): BenchOptions {
  return {
    modelPath: modelPathOf(flags),
    threads: flags.threads ?? null,
    tokens: flags.tokens ?? null,
    rounds: flags.rounds ?? 1,
    steps: flags.steps ?? 1,
    python: flags.python ?? null,
    secondModelPath: flags.secondModel === undefined ? null : resolve(flags.secondModel),
  }
}

async function measure(name: string, bench: Bench, flags: Flags): Promise<void> {
  const [loadBefore = 0] = loadavg()
  // A thread of a product waits for the slowest, so one busy core can cost more than half of the speed.
  if (loadBefore > quietLoad) console.error(`others keep ${loadBefore.toFixed(1)} cores busy`)
  const result = await bench.run(optionsOf(flags))
  const machine = describeMachine(result)
  console.log(result.text)
  if (flags.json !== undefined) {
    writeFileSync(
      flags.json,
      `${JSON.stringify({ machine, loadBefore, ...result.json }, null, 2)}\n`,
    )
  }
  if (flags.writeDocs === true) writeDocs(docsFile, { name, machine, result })
}

function createProgram(): Command {
  const program = new Command('bench').usage('NAME [options]')
  for (const [name, { bench, takes }] of Object.entries(entries)) {
    const command = program
      .command(name)
      .description(bench.line)
      .option('--model <file>', 'GGUF to measure with (default: the one npm start fetched)')
      .option('--json <file>', 'write the result as JSON')
    for (const key of takes) addOption(command, measuring[key])
    if (takes.length > 0) command.option('--write-docs', 'put the result into docs/performance.md')
    command.action((flags: Flags) => measure(name, bench, flags))
  }
  return program
}

function addOption(command: Command, option: (typeof measuring)[keyof typeof measuring]): void {
  const [flag, description, parse, fallback] = option
  if (parse === undefined) command.option(flag, description)
  else if (fallback === undefined) command.option(flag, description, parse)
  else command.option(flag, description, parse, fallback)
}

try {
  const program = createProgram()
  if (process.argv.length <= 2) program.outputHelp()
  else await program.parseAsync()
} catch (error) {
  console.error(`bench: ${toAppError(error).message}`)
  process.exitCode = 1
}
