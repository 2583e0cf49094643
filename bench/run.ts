import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { AppError, toAppError } from '../app/shared/errors.ts'
import { defaultModelPath } from '../test/support/model.ts'
import { describeMachine, type BenchCase } from './machine.ts'
import { benchServe } from './serve.ts'

const benches: Readonly<Record<string, (modelPath: string) => Promise<BenchCase[]>>> = {
  serve: benchServe,
}

interface Flags {
  model?: string
  json?: string
}

async function main(): Promise<void> {
  const known = Object.keys(benches).join(', ')
  const command = new Command('bench')
    .argument('<name>', `which one: ${known}`)
    .option('--model <file>', 'GGUF to measure with (default: the one npm start fetched)')
    .option('--json <file>', 'write the result as JSON')
    .parse()
  const name = command.args[0] ?? ''
  const flags = command.opts<Flags>()
  const bench = benches[name]
  if (bench === undefined) {
    throw new AppError('invalid-input', `no bench is called “${name}”; known are ${known}`)
  }
  const modelPath = flags.model ?? defaultModelPath()
  if (modelPath === null) {
    throw new AppError(
      'not-found',
      'no model: give --model FILE.gguf or HONE_MODEL, or run npm start once to fetch the default one',
    )
  }
  const result = { machine: describeMachine(), cases: await bench(modelPath) }
  for (const { name: title, value, unit } of result.cases) {
    console.log(`${title}: ${value.toFixed(1)} ${unit}`)
  }
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(result, null, 2)}\n`)
}

try {
  await main()
} catch (error) {
  console.error(`bench: ${toAppError(error).message}`)
  process.exitCode = 1
}
