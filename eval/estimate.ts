// How long parts of the plan will take: the mean of finished ones of the same sort, else a guess from what is known.
import { sums } from './arithmetic.ts'
import { modelName } from './benchmark.ts'
import { isMethodName, methodOf } from './methods.ts'
import type { Job, Numbers } from './plan.ts'
import type { Entry } from './results.ts'
import { isTrainingDue } from './statistics.ts'
import type { TrialConfig } from './trial.ts'

/** A reply of the default model on two cores, and one training with its gate; until something is measured. */
const guess = { replySeconds: 2, trainingSeconds: 45, startSeconds: 8 } as const

/** Replies of a session: the first, about one after a correction, and the beginning of one to the thanks. */
const repliesPerSession = 2.3

/** Seconds that the job will take. */
export function estimateSeconds(job: Job, numbers: Numbers, entries: readonly Entry[]): number {
  const reply = replySeconds(modelName(job.modelPath), entries)
  switch (job.kind) {
    case 'base':
      return guess.startSeconds + (numbers.baseReplies + numbers.toldReplies) * reply
    case 'neutral':
      return guess.startSeconds + (numbers.controlReplies + sums.length) * reply
    case 'trial':
      return measuredSeconds(job.config, entries) ?? guessedTrial(job.config, reply)
  }
}

function replySeconds(model: string, entries: readonly Entry[]): number {
  const bases = entries.filter((entry) => entry.kind === 'base' && entry.model === model)
  const seconds = bases.reduce((sum, { seconds }) => sum + seconds, 0)
  const replies = bases.reduce(
    (sum, entry) => sum + (entry.kind === 'base' ? entry.bare.length + entry.told.length : 0),
    0,
  )
  return replies === 0 ? guess.replySeconds : seconds / replies
}

/** The mean of trials that are alike, the most alike that there are. */
function measuredSeconds(config: TrialConfig, entries: readonly Entry[]): number | null {
  const trials = entries.flatMap((entry) => (entry.kind === 'trial' ? [entry] : []))
  const alike = trials.filter(
    ({ config: other }) =>
      other.model === config.model &&
      other.setting === config.setting &&
      other.personas.length === config.personas.length &&
      other.sessionsCap === config.sessionsCap &&
      sortOf(other) === sortOf(config),
  )
  const same = alike.filter(({ config: other }) => other.personas.join() === config.personas.join())
  const used = same.length > 0 ? same : alike
  if (used.length === 0) return null
  return used.reduce((sum, { seconds }) => sum + seconds, 0) / used.length
}

/** What decides about the time: whether it trains, and whether it practises. */
function sortOf({ method: name }: TrialConfig): string {
  if (!isMethodName(name)) return name
  const method = methodOf(name)
  if (method.trainer === null) return method.measuredWithNotes ? 'memory' : 'nothing'
  return method.practice ? 'practice' : 'training'
}

function guessedTrial(config: TrialConfig, reply: number): number {
  const { personas, sessionsCap, trainEvery, firstReplies, controlReplies } = config
  const sort = sortOf(config)
  const sessions = personas.length * sessionsCap * repliesPerSession * reply
  const measuring = (personas.length * firstReplies + controlReplies + sums.length) * reply
  if (sort === 'nothing') return guess.startSeconds + sessions
  if (sort === 'memory') return guess.startSeconds + sessions + measuring
  const each = guess.trainingSeconds * (sort === 'practice' ? 1.5 : 1) * Math.sqrt(personas.length)
  const rounds = Array.from({ length: sessionsCap - 1 }, (_, index) => index + 1)
  const trainings = rounds.filter((round) => isTrainingDue(round, trainEvery)).length
  return guess.startSeconds + sessions + measuring + trainings * each
}
