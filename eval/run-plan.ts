// Goes through a plan: skips what the results hold, runs the rest in order, keeps each part as soon as it is finished.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AppError, toAppError } from '../app/shared/errors.ts'
import { measureBase, measureNeutral, modelName, runTrial, type Place } from './benchmark.ts'
import { estimateSeconds } from './estimate.ts'
import { findPersona } from './personas/index.ts'
import { isPossible, jobName, type Job, type Numbers, type TrialJob } from './plan.ts'
import { duration, type PlanProgress } from './progress.ts'
import { baseLine, rowLine } from './report.ts'
import type { BaseRate, Measured, NeutralBase, Results } from './results.ts'
import { createSpeaking, type UserModel } from './user-model.ts'

export interface PlanRun {
  readonly jobs: readonly Job[]
  readonly numbers: Numbers
  readonly results: Results
  readonly progress: PlanProgress
  readonly signal: AbortSignal
  /** So many parts run at the same time, each app bound to a core of its own; null = one that may use all. */
  readonly cores: number | null
  /** No part is started that would not be finished within this; null = no limit. */
  readonly budgetSeconds: number | null
  /** Where the data folders are kept; null = nowhere. */
  readonly keep: string | null
  readonly userModel: UserModel | null
}

export interface PlanEnd {
  readonly done: number
  readonly all: number
  /** Parts that ended with an error, in words; they start anew next time. */
  readonly failed: readonly string[]
  /** Parts that this build cannot run, by name. */
  readonly impossible: readonly string[]
  readonly isOutOfTime: boolean
}

interface Loop {
  readonly run: PlanRun
  readonly possible: readonly Job[]
  readonly startedAt: number
  readonly failed: string[]
  isOutOfTime: boolean
}

export async function runPlan(run: PlanRun): Promise<PlanEnd> {
  const possible = run.jobs.filter(isPossible)
  const impossible = run.jobs.filter((job) => !isPossible(job)).map(jobName)
  const loop: Loop = { run, possible, startedAt: Date.now(), failed: [], isOutOfTime: false }
  // What a phase measures is needed by the next one: base rates by trials.
  for (const phase of phasesOf(possible)) {
    const waiting = [...phase]
    const cores = Array.from({ length: run.cores ?? 1 }, (_, core) => core)
    await Promise.all(
      cores.map((core) => workThrough(loop, waiting, run.cores === null ? null : core)),
    )
  }
  const done = possible.filter((job) => finished(run, job) !== null).length
  const { failed, isOutOfTime } = loop
  return { done, all: possible.length, failed, impossible, isOutOfTime }
}

/** Runs of trials and of everything else, in order. */
export function phasesOf(jobs: readonly Job[]): Job[][] {
  const phases: Job[][] = []
  for (const job of jobs) {
    const last = phases.at(-1)
    const isSame = last !== undefined && (last[0]?.kind === 'trial') === (job.kind === 'trial')
    if (isSame) last.push(job)
    else phases.push([job])
  }
  return phases
}

/** Takes jobs from the front until none is left; several may do so, each on a core of its own. */
async function workThrough(loop: Loop, waiting: Job[], core: number | null): Promise<void> {
  const { run, failed } = loop
  const { results, progress, signal } = run
  for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
    signal.throwIfAborted()
    const known = finished(run, job)
    if (known !== null) {
      if (known.kind === 'base') progress.print(baseLine(known))
      continue
    }
    if (!announce(loop, job)) {
      loop.isOutOfTime = true
      continue
    }
    const result = await carryOut(run, { job, core, failed })
    if (result !== null) {
      results.add(result)
      for (const line of linesOf(result)) progress.print(line)
    }
  }
}

/** Tells that a part begins; false = it would not be finished in time. */
function announce({ run, possible, startedAt }: Loop, job: Job): boolean {
  const { numbers, results, budgetSeconds } = run
  const seconds = estimateSeconds(job, numbers, results.all())
  const used = (Date.now() - startedAt) / 1000
  if (budgetSeconds !== null && used + seconds > budgetSeconds) return false
  const open = possible.filter((other) => finished(run, other) === null)
  const later = secondsLeft({ ...run, jobs: open.filter((other) => other !== job) })
  run.progress.startPart({
    name: jobName(job),
    done: possible.length - open.length,
    all: possible.length,
    seconds,
    later: later / (run.cores ?? 1),
  })
  return true
}

/** What the results hold of this part; null = it is still to be run. */
export function finished(
  { results, numbers }: Pick<PlanRun, 'results' | 'numbers'>,
  job: Job,
): Measured | null {
  const model = modelName(job.modelPath)
  switch (job.kind) {
    case 'base':
      return results.base(model, job.persona, numbers.baseReplies)
    case 'neutral':
      return results.neutral(model, numbers.controlReplies)
    case 'trial':
      return results.trial(job.config)
  }
}

/** One part that fails must not cost the rest of a long night. */
async function carryOut(
  run: PlanRun,
  {
    job,
    core,
    failed,
  }: { readonly job: Job; readonly core: number | null; readonly failed: string[] },
): Promise<Measured | null> {
  const name = core === null ? '' : `${jobName(job)} │ `
  using folder = dataFolder(run.keep, jobName(job))
  const place: Place = {
    modelPath: job.modelPath,
    dataDir: folder.path,
    signal: run.signal,
    print: (line) => run.progress.print(`${name}${line}`),
    core,
  }
  try {
    return await measure(run, job, place)
  } catch (error) {
    if (run.signal.aborted) throw error
    const { code, message, stack } = toAppError(error)
    const why = `${jobName(job)}: ${message}`
    run.progress.print(`failed: ${code === 'internal' ? (stack ?? why) : why}`)
    failed.push(why)
    return null
  }
}

async function measure(run: PlanRun, job: Job, place: Place): Promise<Measured> {
  const { numbers } = run
  switch (job.kind) {
    case 'base': {
      const persona = findPersona(job.persona)
      return measureBase(place, { persona, bare: numbers.baseReplies, told: numbers.toldReplies })
    }
    case 'neutral':
      return measureNeutral(place, numbers.controlReplies)
    case 'trial':
      return measureTrial(run, job, place)
  }
}

async function measureTrial(run: PlanRun, job: TrialJob, place: Place): Promise<Measured> {
  const { config } = job
  const start = Date.now()
  const { results, numbers, userModel } = run
  const bases = config.personas.map((name) =>
    needed<BaseRate>(results.base(config.model, name, numbers.baseReplies), `base rate of ${name}`),
  )
  const neutral = needed<NeutralBase>(
    results.neutral(config.model, config.controlReplies),
    'neutral replies of the base',
  )
  const rows = await runTrial({
    ...place,
    ...{ config, bases, neutral },
    controlExchanges: numbers.controlExchanges,
    speaking: userModel === null ? null : createSpeaking(userModel, config.seed * 1000),
  })
  return { kind: 'trial', config, rows, seconds: Math.round((Date.now() - start) / 1000) }
}

function needed<Value>(value: Value | null, what: string): Value {
  if (value !== null) return value
  throw new AppError('unavailable', `the ${what} is missing; it failed or was left out`)
}

function linesOf(result: Measured): string[] {
  if (result.kind === 'base') return [baseLine(result)]
  return result.kind === 'trial' ? result.rows.map(rowLine) : []
}

interface DataFolder extends Disposable {
  readonly path: string
}

function dataFolder(keep: string | null, name: string): DataFolder {
  if (keep === null) {
    const path = mkdtempSync(join(tmpdir(), 'hone-eval-'))
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
  }
  const path = resolve(keep, name.replace(/[^\w+.-]+/g, '-'))
  mkdirSync(path, { recursive: true })
  if (readdirSync(path).length > 0) {
    throw new AppError('conflict', `${path} is not empty; a run needs a fresh data folder`)
  }
  return { path, [Symbol.dispose]: () => undefined }
}

/** Seconds of all parts that are still open. */
export function secondsLeft(run: Pick<PlanRun, 'jobs' | 'results' | 'numbers'>): number {
  return run.jobs
    .filter((job) => isPossible(job) && finished(run, job) === null)
    .reduce((sum, job) => sum + estimateSeconds(job, run.numbers, run.results.all()), 0)
}

/** The plan as lines: what is done, and how long each open part will take. */
export function planLines(run: Pick<PlanRun, 'jobs' | 'results' | 'numbers'>): string[] {
  const lines = run.jobs.map((job) => {
    if (!isPossible(job)) return `${'not here'.padStart(9)}  ${jobName(job)}`
    const isDone = finished(run, job) !== null
    const seconds = estimateSeconds(job, run.numbers, run.results.all())
    return `${(isDone ? 'done' : duration(seconds)).padStart(9)}  ${jobName(job)}`
  })
  return [...lines, `about ${duration(secondsLeft(run))} are left`]
}
