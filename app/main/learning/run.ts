// One training occasion from the waiting samples to a live or rejected version. Read top to bottom; the
// numbers are training's, the verdicts the gate's. Source: DESIGN 4 steps 8–10, 7.2, 10.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrainEvent } from '../../shared/contract/trainer.ts'
import type { RunReport, Sample } from '../../shared/domain/training.ts'
import { AppError, isAppError } from '../../shared/errors.ts'
import type { AdapterFile } from '../policy/types.ts'
import type { StoredRun } from '../store/types.ts'
import { probeExchanges, tokenised } from './exchanges.ts'
import { runGate } from './gate.ts'
import { teachingSamples } from './pool.ts'
import type { LearningDeps } from './ports.ts'
import { selectBatch } from './select.ts'
import { swapTo } from './swap.ts'

export interface RunProgress {
  readonly phase: 'training' | 'checking' | 'swapping'
  /** What training is at, before and between its steps. */
  readonly stage: TrainingStage | null
  readonly step: number | null
  readonly steps: number | null
}

export type TrainingStage = Extract<TrainEvent, { kind: 'phase' }>['phase']

export interface RunOptions {
  readonly onProgress: (progress: RunProgress) => void
  readonly signal: AbortSignal
}

export type RunEnd = Pick<StoredRun, 'outcome' | 'sentence' | 'version' | 'report'>

export function adapterPaths(dir: string, version: number) {
  return { adapter: join(dir, `v${version}.gguf`), state: join(dir, `v${version}.adamw`) }
}

/** The file that serves a version; 0 is the base. */
export function adapterFile(deps: Pick<LearningDeps, 'store'>, version: number): AdapterFile {
  if (version === 0) return { version: 0, path: null }
  const row = deps.store.version(version)
  if (row === null) throw new AppError('not-found', `There is no version v${version}.`)
  return { version, path: row.path }
}

function medianNorm(deps: LearningDeps): number | null {
  const norms = deps.store
    .steps(64)
    .map(({ step }) => step.gradientNorm)
    .toSorted((a, b) => a - b)
  return norms[Math.floor(norms.length / 2)] ?? null
}

function versionPaths(deps: LearningDeps, samples: readonly Sample[]): Record<string, string> {
  const wanted = new Set(samples.map((sample) => sample.version).filter((version) => version > 0))
  const paths: Record<string, string> = {}
  for (const version of wanted) {
    const row = deps.store.version(version)
    if (row !== null) paths[String(version)] = row.path
  }
  return paths
}

async function train(
  deps: LearningDeps,
  batch: { readonly runId: string; readonly version: number; readonly samples: readonly Sample[] },
  options: RunOptions,
): Promise<RunReport> {
  const trainer = await deps.trainer()
  const parent = deps.store.activeVersion()
  const parentFile = adapterFile(deps, parent).path
  const paths = adapterPaths(deps.adapterDir, batch.version)
  const settings = deps.store.settings()
  const events = await trainer.train(
    {
      config: { ...settings.training, seed: settings.training.seed + batch.version },
      samples: [...batch.samples],
      anchors: tokenised(deps.policy(), deps.resources.anchor),
      endId: deps.policy().info().replyEndId,
      parentPath: parentFile,
      parentStatePath: parentFile === null ? null : adapterPaths(deps.adapterDir, parent).state,
      versionPaths: versionPaths(deps, batch.samples),
      adapterPath: paths.adapter,
      statePath: paths.state,
      medianGradientNorm: medianNorm(deps),
    },
    { signal: options.signal },
  )
  for await (const event of events) {
    const report = record(deps, batch.runId, event)
    if (report !== null) return report
    if (event.kind === 'phase') {
      options.onProgress({ phase: 'training', stage: event.phase, step: null, steps: null })
    }
    if (event.kind === 'step') {
      const { step, steps } = event.step
      options.onProgress({ phase: 'training', stage: 'updating', step, steps })
    }
  }
  throw new AppError('internal', 'The trainer ended without a report.')
}

/** Stores and announces one event; the final one returns its report. */
function record(deps: LearningDeps, runId: string, event: TrainEvent): RunReport | null {
  if (event.kind === 'step') {
    deps.store.addStep(runId, event.step)
    deps.publish({ kind: 'step', runId, step: event.step })
  }
  if (event.kind === 'overlap') {
    deps.store.addOverlap(runId, event.overlap)
    deps.publish({ kind: 'overlap', runId, sampleId: event.overlap.sampleId })
  }
  return event.kind === 'done' ? event.report : null
}

/** Refused or rejected: the samples go back once, then retire. */
function giveBack(deps: LearningDeps, sampleIds: readonly string[], why: string): void {
  for (const id of sampleIds) {
    const stored = deps.store.sample(id)
    if (stored === null || stored.state === 'vetoed') continue
    if (stored.state === 'ready') deps.store.setSampleState(id, 'returned', why)
    else if (stored.state === 'returned') deps.store.setSampleState(id, 'retired', why)
  }
}

function settleSamples(
  deps: LearningDeps,
  report: RunReport,
  end: { readonly isLive: boolean; readonly why: string },
): void {
  for (const { sampleId, reason } of report.excluded.filter((each) => !each.isSetAside)) {
    deps.store.setSampleState(sampleId, 'retired', reason)
  }
  if (!end.isLive) return giveBack(deps, report.usedSampleIds, end.why)
  for (const id of report.usedSampleIds) {
    if (deps.store.sample(id)?.state !== 'vetoed') deps.store.setSampleState(id, 'used')
  }
  deps.store.countUse(report.usedSampleIds)
}

function applyNotes(
  deps: LearningDeps,
  version: number,
  outcome: {
    readonly learnedNoteIds: readonly string[]
    readonly forgottenNoteIds: readonly string[]
  },
): void {
  for (const id of outcome.learnedNoteIds) {
    if (deps.store.note(id)?.state === 'prompt') {
      deps.store.updateNote(id, { state: 'learned', learnedIn: version })
    }
  }
  for (const id of outcome.forgottenNoteIds) {
    if (deps.store.note(id)?.state === 'learned') {
      deps.store.updateNote(id, { state: 'prompt', learnedIn: null })
    }
  }
}

async function checkAndSwap(
  deps: LearningDeps,
  made: {
    readonly version: number
    readonly report: RunReport
    readonly samples: readonly Sample[]
  },
  options: RunOptions,
): Promise<RunEnd> {
  const { version, report } = made
  const path = adapterPaths(deps.adapterDir, version).adapter
  const candidate = { version, path }
  const active = adapterFile(deps, deps.store.activeVersion())
  options.onProgress({ phase: 'checking', stage: null, step: null, steps: null })
  await deps.policy().prepare(candidate)
  const notes = deps.store.notes().filter((note) => note.state !== 'off')
  const { signal } = options
  const outcome = await runGate(deps, { candidate, active, report, notes, signal })
  if (!outcome.report.passed) {
    deps.store.setGate(version, outcome.report)
    deps.store.reject(version)
    await deps.policy().release(version)
    const sentence = `Not better: v${version} was not used. ${outcome.report.sentence}`
    return { outcome: 'rejected', sentence, version, report }
  }
  options.onProgress({ phase: 'swapping', stage: null, step: null, steps: null })
  const probe = await swapTo(deps, candidate, probeExchanges(made.samples))
  const checks = [...outcome.report.checks, probe]
  const isServed = probe.verdict !== 'failed'
  deps.store.setGate(version, { ...outcome.report, checks, passed: isServed })
  if (!isServed) {
    deps.store.reject(version)
    return { outcome: 'rejected', sentence: probe.sentence, version, report }
  }
  const sentence = `v${version} is live. ${outcome.report.sentence}`
  // One transaction: after a kill the samples are either unused and the old version active, or both done.
  deps.store.transaction(() => {
    deps.store.activate(version)
    applyNotes(deps, version, outcome)
    settleSamples(deps, report, { isLive: true, why: sentence })
  })
  return { outcome: 'live', sentence, version, report }
}

/** Carries out one run on what is waiting; every end is stored with its sentence. */
export async function carryOutRun(deps: LearningDeps, options: RunOptions): Promise<RunEnd> {
  const waiting = teachingSamples(deps.store, ['ready', 'returned'])
  const { fresh, replayed } = selectBatch(waiting, teachingSamples(deps.store, ['used']))
  const freshIds = fresh.map((sample) => sample.id)
  const samples = [...fresh, ...replayed]
  const version = deps.store.nextVersion()
  const run = deps.store.startRun(samples.map((sample) => sample.id))
  const finish = (end: RunEnd): RunEnd => {
    deps.store.finishRun(run.id, end)
    deps.publish({ kind: 'curves-changed' })
    deps.publish({ kind: 'versions-changed' })
    return end
  }
  options.onProgress({ phase: 'training', stage: null, step: null, steps: null })
  try {
    const report = await train(deps, { runId: run.id, version, samples }, options)
    if (report.kind !== 'trained') {
      const sentence = report.reason ?? 'There was no signal to learn from.'
      settleSamples(deps, report, { isLive: false, why: sentence })
      // A refused step names no used samples: all that it was given go back, or the same run would be due at once.
      giveBack(deps, freshIds, sentence)
      return finish({ outcome: report.kind, sentence, version: null, report })
    }
    const { adapter } = adapterPaths(deps.adapterDir, version)
    deps.store.addVersion({
      version,
      parent: deps.store.activeVersion(),
      modelId: deps.policy().info().modelId,
      path: adapter,
      sha256: createHash('sha256')
        .update(await readFile(adapter))
        .digest('hex'),
      sampleIds: report.usedSampleIds,
      report,
    })
    const end = await checkAndSwap(deps, { version, report, samples }, options)
    if (end.outcome !== 'live') settleSamples(deps, report, { isLive: false, why: end.sentence })
    return finish(end)
  } catch (thrown) {
    const isCancelled = options.signal.aborted
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    const sentence = isCancelled ? 'The run was interrupted.' : `The run failed: ${message}`
    // Where training is impossible on this machine the samples are not to blame: they wait.
    const isImpossible = isAppError(thrown) && thrown.code === 'unavailable'
    if (!isCancelled && !isImpossible) giveBack(deps, freshIds, sentence)
    if (deps.store.version(version)?.state === 'candidate') {
      deps.store.reject(version)
      // Its context may have been made before the check failed.
      await deps.policy().release(version)
    }
    return finish({
      outcome: isCancelled ? 'interrupted' : 'failed',
      sentence,
      version: null,
      report: null,
    })
  }
}
