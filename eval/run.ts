import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { AppError, toAppError } from '../app/shared/errors.ts'
import { buildRendererIfStale } from '../scripts/launcher/renderer-build.ts'
import { runTrial } from './benchmark.ts'
import { readOptions, type EvalOptions } from './options.ts'
import { table, type Result, type Row } from './report.ts'

interface DataFolder extends Disposable {
  readonly path: string
}

function dataFolder(keep: string | null, name: string): DataFolder {
  if (keep === null) {
    const path = mkdtempSync(join(tmpdir(), 'hone-eval-'))
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
  }
  const path = resolve(keep, name)
  mkdirSync(path, { recursive: true })
  if (readdirSync(path).length > 0) {
    throw new AppError('conflict', `${path} is not empty; a run needs a fresh data folder`)
  }
  return { path, [Symbol.dispose]: () => undefined }
}

async function run(options: EvalOptions, signal: AbortSignal): Promise<void> {
  const rows: Row[] = []
  for (const persona of options.personas) {
    for (let seed = 1; seed <= options.seeds; seed++) {
      using folder = dataFolder(options.keep, `${persona.name}-${options.method}-${seed}`)
      const trial = { options, persona, seed, dataDir: folder.path, signal, print: console.log }
      rows.push(await runTrial(trial))
      const result: Result = { model: basename(options.modelPath), rows }
      // After each trial, so that an interrupted benchmark keeps what it has.
      if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`)
    }
  }
  console.log(`\n${table(rows)}`)
}

const stopped = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopped.abort())
try {
  const options = readOptions(process.argv)
  // The host serves the page, whether anybody looks at it or not.
  await buildRendererIfStale(resolve(import.meta.dirname, '..'))
  await run(options, stopped.signal)
} catch (error) {
  if (stopped.signal.aborted) {
    console.error('Interrupted.')
    process.exitCode = 130
  } else {
    const { code, message, stack } = toAppError(error)
    console.error(code === 'internal' && process.env['DEBUG'] ? stack : `eval: ${message}`)
    process.exitCode = 1
  }
}
