// The loop: judged turns become samples, samples a run, a run a version; and what runs when. The work itself
// is in judging, pool, run, practice. Source: DESIGN 4, 7.2.
import type { LearningStatus } from '../../shared/contract/app.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import { createNoteDesk, type NoteDesk } from './desk.ts'
import { createHintDesk, type HintDesk } from './hints.ts'
import { createJudging, type Judging } from './judging.ts'
import { refreshSamples, teachingSamples, turnsAbove } from './pool.ts'
import type { LearningDeps } from './ports.ts'
import { notesForIdlePractice, practisableNotes, practise } from './practice.ts'
import { adapterFile, carryOutRun } from './run.ts'
import { isDue } from './select.ts'
import { createSelfTest, type JudgeSelfTest } from './self-test.ts'
import { learningStatus } from './status.ts'
import { createWorkSlot, type WorkSlot } from './work.ts'

export interface LearningLoop extends AsyncDisposable {
  readonly judging: Judging
  readonly hints: HintDesk
  readonly notes: NoteDesk
  status(): LearningStatus
  /** Starts a run now; throws `refused` with the reason when there is nothing to train on. */
  trainNow(): void
  practiceNow(): void
  /** 0 = the base. */
  activate(version: number): Promise<void>
  /** After a start: closes what a crash left open, goes on with what was owed. */
  resume(): Promise<void>
  /** Looks whether something is due; called by a timer. */
  tick(): void
  judgeSentence(): { readonly sentence: string; readonly abstains: boolean }
  announce(): void
}

interface Parts {
  readonly deps: LearningDeps
  readonly slot: WorkSlot
  readonly selfTest: JudgeSelfTest
  readonly judging: () => Judging
  /** Why training is impossible here; null when it is possible. */
  readonly unavailable: () => string | null
}

/** Practice and the self-test wait for this much quiet. */
const idleQuietMs = 5 * 60_000

function lastSentence(parts: Parts): string | null {
  const failure = parts.slot.failure()
  const last = parts.deps.store.runs(1)[0]
  if (failure !== null || last === undefined || last.outcome === 'running') return failure
  return last.sentence
}

function statusOf(parts: Parts): LearningStatus {
  const { deps } = parts
  const settings = deps.store.settings()
  const ready = teachingSamples(deps.store, ['ready', 'returned'])
  return learningStatus({
    settings,
    work: parts.slot.current(),
    judging: parts.judging().pending(),
    waiting: ready.length,
    isDue: isDue(ready, settings.samplesDue),
    quietMs: deps.quietMs(),
    undecidedHints: deps.store.hints().filter((hint) => hint.state === 'proposed').length,
    activeVersion: deps.store.activeVersion(),
    lastRun: lastSentence(parts),
    unavailable: parts.unavailable(),
    practisable: practisableNotes(deps).length,
  })
}

function trainNow(parts: Parts): void {
  const blocked = statusOf(parts).trainBlocked
  if (blocked !== null) throw new AppError('refused', blocked)
  parts.slot.start('training', (signal) =>
    carryOutRun(parts.deps, { signal, onProgress: (progress) => parts.slot.progress(progress) }),
  )
}

function practiceNow(parts: Parts): void {
  const blocked = statusOf(parts).practiceBlocked
  if (blocked !== null) throw new AppError('refused', blocked)
  parts.slot.start('practising', (signal) => practise(parts.deps, signal))
}

function isQuietEnough(parts: Parts): boolean {
  const { schedule, quietSeconds, idleMinutes } = parts.deps.store.settings()
  if (schedule === 'paused' || parts.judging().pending() > 0) return false
  const needed = schedule === 'when-idle' ? idleMinutes * 60_000 : quietSeconds * 1000
  return parts.deps.quietMs() >= needed
}

function tick(parts: Parts): void {
  const { deps, slot } = parts
  if (slot.current() !== null || parts.unavailable() !== null || !isQuietEnough(parts)) return
  const settings = deps.store.settings()
  const ready = teachingSamples(deps.store, ['ready', 'returned'])
  if (isDue(ready, settings.samplesDue)) return trainNow(parts)
  if (deps.quietMs() < idleQuietMs) return
  if (settings.practice && notesForIdlePractice(deps).length > 0) return practiceNow(parts)
  parts.selfTest.runWhenIdle()
}

async function serveVersion(deps: LearningDeps, version: number): Promise<void> {
  const file = adapterFile(deps, version)
  await deps.policy().prepare(file)
  await deps.policy().activate(file)
}

async function activate(parts: Parts, version: number): Promise<void> {
  if (parts.slot.current() !== null) {
    throw new AppError('busy', 'A run is in progress. Try again when it has ended.')
  }
  if (parts.deps.store.version(version)?.state === 'rejected') {
    throw new AppError('refused', `v${version} did not pass its checks and cannot answer.`)
  }
  await serveVersion(parts.deps, version)
  parts.deps.store.activate(version)
  parts.deps.publish({ kind: 'versions-changed' })
}

/** A version whose file is damaged, gone or made for another model must not keep the app from starting. */
async function serveActive(deps: LearningDeps): Promise<void> {
  const active = deps.store.activeVersion()
  if (active === 0) return
  try {
    await serveVersion(deps, active)
  } catch (thrown) {
    deps.store.transaction(() => {
      deps.store.activate(0)
      deps.store.taint(active, `It could not be loaded: ${toAppError(thrown).message}`)
    })
  }
}

async function resume({ deps, judging }: Parts): Promise<void> {
  deps.store.closeInterruptedRuns()
  for (const row of deps.store.versions()) {
    if (row.state === 'candidate') deps.store.reject(row.version)
  }
  await serveActive(deps)
  judging().resume()
}

/** Recomputes what a turn, and every turn above it, teaches. */
function refresh(deps: LearningDeps, turnId: string): void {
  const turn = deps.store.turn(turnId)
  const message = turn === null ? null : deps.store.message(turn.messageId)
  if (message === null) return
  for (const id of turnsAbove(deps, message)) refreshSamples(deps, id)
}

export function createLearningLoop(
  deps: LearningDeps,
  options: { readonly unavailable: () => string | null },
): LearningLoop {
  const announce = (): void => deps.publish({ kind: 'learning', status: statusOf(parts) })
  const refreshed = (turnId: string): void => {
    refresh(deps, turnId)
    announce()
  }
  const selfTest = createSelfTest(deps)
  const hints = createHintDesk(deps, refreshed)
  const judging = createJudging(deps, {
    onHints: (turnId) => hints.applyPolicy(turnId),
    onVerdict: refreshed,
    onSettled: announce,
    judgeMode: () => selfTest.mode(),
  })
  const notes = createNoteDesk(deps, {
    owe: (turnId) => judging.owe(turnId),
    refresh: refreshed,
  })
  const slot = createWorkSlot(deps.lease, announce)
  const parts: Parts = {
    deps,
    slot,
    selfTest,
    judging: () => judging,
    unavailable: options.unavailable,
  }
  return {
    judging,
    hints,
    notes,
    announce,
    status: () => statusOf(parts),
    trainNow: () => trainNow(parts),
    practiceNow: () => practiceNow(parts),
    tick: () => tick(parts),
    judgeSentence: () => selfTest.sentence(),
    async activate(version) {
      await activate(parts, version)
      announce()
    },
    resume: () => resume(parts),
    async [Symbol.asyncDispose]() {
      await slot[Symbol.asyncDispose]()
      await judging[Symbol.asyncDispose]()
    },
  }
}
