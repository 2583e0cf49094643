// The status line: one plain sentence that is always true, and why. Pure.
import type { LearningStatus } from '../../shared/contract/app.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type { TrainingStage } from './run.ts'
import type { Work } from './work.ts'

export interface StatusInput {
  readonly settings: Settings
  /** What the loop is doing now; null = nothing. */
  readonly work: Work | null
  readonly judging: number
  readonly waiting: number
  readonly isDue: boolean
  readonly quietMs: number
  /** Hints that wait for the user's decision. */
  readonly undecidedHints: number
  readonly activeVersion: number
  /** Sentence of the newest finished run. */
  readonly lastRun: string | null
  /** Why training is impossible here; null when it is possible. */
  readonly unavailable: string | null
  readonly practisable: number
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

const stageWords: Readonly<Record<TrainingStage, string>> = {
  loading: 'loading the model',
  guard: 'reading your replies again',
  teacher: 'comparing them with what the hints would say',
  updating: 'making the first update',
  writing: 'writing the new version',
}

function workSentence(work: NonNullable<StatusInput['work']>, version: number): string {
  if (work.phase === 'practising') return 'Practising an approved note on your own past questions.'
  if (work.phase === 'checking') return 'Checking the new version before it may answer.'
  if (work.phase === 'swapping') return 'Putting the new version in place.'
  if (work.step === null) {
    const from = version === 0 ? 'the base' : `v${version}`
    return `Training from ${from}: ${work.stage === null ? 'getting ready' : stageWords[work.stage]}.`
  }
  return `Training, step ${work.step} of ${work.steps ?? work.step}.`
}

function idleSentence(input: StatusInput): string {
  const { settings } = input
  if (input.judging > 0) return 'Reading what you said about the last reply.'
  if (settings.schedule === 'paused') return `Paused. ${plural(input.waiting, 'signal')} ready.`
  if (input.isDue) {
    const needed =
      settings.schedule === 'when-idle' ? settings.idleMinutes * 60 : settings.quietSeconds
    const left = Math.max(0, Math.ceil(needed - input.quietMs / 1000))
    return left === 0
      ? 'Training is about to start.'
      : `Training starts after ${left} quiet seconds.`
  }
  const waitingFor =
    input.undecidedHints > 0
      ? `Waiting for your decision on ${plural(input.undecidedHints, 'hint')}.`
      : `Waiting for ${plural(Math.max(1, settings.samplesDue - input.waiting), 'more signal')}.`
  return input.lastRun === null ? waitingFor : `${waitingFor} Last run: ${input.lastRun}`
}

function blockedReason(input: StatusInput): string | null {
  if (input.unavailable !== null) return input.unavailable
  if (input.work !== null) return 'A run is in progress.'
  if (input.waiting === 0) {
    return input.undecidedHints > 0
      ? 'Approve or veto the open hint first: nothing else is ready to learn from.'
      : 'Nothing to learn from yet: rate, correct or edit a reply.'
  }
  return null
}

function phaseOf(input: StatusInput): LearningStatus['phase'] {
  if (input.unavailable !== null) return 'unavailable'
  if (input.work !== null) return input.work.phase
  if (input.judging > 0) return 'judging'
  if (input.settings.schedule === 'paused') return 'paused'
  return input.isDue ? 'due' : 'idle'
}

export function learningStatus(input: StatusInput): LearningStatus {
  const sentence =
    input.unavailable ??
    (input.work === null ? idleSentence(input) : workSentence(input.work, input.activeVersion))
  return {
    phase: phaseOf(input),
    sentence,
    ready: input.waiting,
    due: input.settings.samplesDue,
    step: input.work?.step ?? null,
    steps: input.work?.steps ?? null,
    activeVersion: input.activeVersion,
    trainBlocked: blockedReason(input),
    practiceBlocked:
      input.unavailable ??
      (input.work !== null
        ? 'A run is in progress.'
        : input.practisable === 0
          ? 'There is no approved note that a rule can check.'
          : null),
  }
}
