// `npm run eval`: personas against the real app; `npm run eval -- table` runs the whole plan.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { toAppError } from '../app/shared/errors.ts'
import { buildRendererIfStale } from '../scripts/launcher/renderer-build.ts'
import { rowsOf } from './aggregate.ts'
import { modelName } from './benchmark.ts'
import { writeLearningDocs } from './docs.ts'
import { readOptions, type EvalOptions } from './options.ts'
import { createPlanProgress } from './progress.ts'
import { table } from './report.ts'
import { openResults, type Provenance, type Results } from './results.ts'
import { planLines, runPlan, secondsLeft, type PlanEnd } from './run-plan.ts'
import { openUserModel, type UserModel } from './user-model.ts'

const root = resolve(import.meta.dirname, '..')

function git(...parameters: string[]): string {
  return execFileSync('git', parameters, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** A folder without git has no commit to name. */
function commitName(): string {
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? ' with changes' : ''}`
  } catch (error) {
    return `unknown (${toAppError(error).message.split('\n')[0] ?? ''})`
  }
}

function provenance(): Provenance {
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`
  return {
    at: new Date().toISOString(),
    machine: `${cpu}, ${cpus().length} cores, ${memory}, ${process.platform}-${process.arch}, Node ${process.version}`,
    commit: commitName(),
  }
}

async function userModelOf({ userModel }: EvalOptions): Promise<UserModel | null> {
  return userModel === null ? null : openUserModel(userModel)
}

async function run(options: EvalOptions, results: Results, signal: AbortSignal): Promise<PlanEnd> {
  // The host serves the page, whether anybody looks at it or not.
  await buildRendererIfStale(root)
  await using stack = new AsyncDisposableStack()
  const userModel = await userModelOf(options)
  if (userModel !== null) stack.use(userModel)
  using progress = createPlanProgress({
    isTerminal: process.stdout.isTTY,
    print: console.log,
  })
  return await runPlan({ ...options, results, progress, signal, userModel })
}

function tell(options: EvalOptions, results: Results, end: PlanEnd): void {
  console.log(`\n${table(rowsOf(results.all()))}\n`)
  console.log(`${end.done} of ${end.all} parts are measured.`)
  for (const why of end.failed) console.error(`Failed: ${why}`)
  if (end.impossible.length > 0) {
    console.log(`Not in this build: ${end.impossible.join('; ')}.`)
  }
  if (end.isOutOfTime) {
    const left = secondsLeft({ ...options, results })
    console.log(`The time was up; about ${(left / 3600).toFixed(1)} hours are left.`)
  }
}

function write(options: EvalOptions, results: Results): void {
  const { json, modelPath, jobs, numbers } = options
  if (json !== null) {
    const entries = results.all()
    const bases = entries.filter(({ kind }) => kind === 'base')
    const result = { model: modelName(modelPath), bases, rows: rowsOf(entries) }
    writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`)
  }
  if (options.writeDocs) {
    writeLearningDocs(resolve(root, 'docs/learning.md'), { jobs, numbers, results })
  }
}

async function main(signal: AbortSignal): Promise<void> {
  const options = readOptions(process.argv)
  const results = openResults(options.resultsPath, provenance)
  if (options.list) {
    console.log(planLines({ ...options, results }).join('\n'))
    return
  }
  try {
    const end = await run(options, results, signal)
    tell(options, results, end)
    if (end.failed.length > 0) process.exitCode = 1
  } finally {
    // An interrupted benchmark shows what it has.
    write(options, results)
  }
}

const stopped = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopped.abort())
try {
  await main(stopped.signal)
} catch (error) {
  if (stopped.signal.aborted) {
    console.error('Interrupted. What was finished is kept where --results says.')
    process.exitCode = 130
  } else {
    const { code, message, stack } = toAppError(error)
    console.error(code === 'internal' && process.env['DEBUG'] ? stack : `eval: ${message}`)
    process.exitCode = 1
  }
}
