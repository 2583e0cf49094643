// What each method of the table stands for, in settings of the app. Whatever a line does not name is the app's default.
import { AppError } from '../app/shared/errors.ts'
import type { Settings } from '../app/shared/domain/settings.ts'
import { trainingConfigSchema, type TrainingConfig } from '../app/shared/domain/training.ts'
import type { TrialConfig } from './trial.ts'

export interface Method {
  /** For people who read the table. */
  readonly meaning: string
  /** The trainer's method; null = nothing is trained. */
  readonly trainer: string | null
  /** Accepted revisions and replies accepted under a note are trained by likelihood. */
  readonly demonstrations: boolean
  /** Before each training the policy practises the approved notes on past requests. */
  readonly practice: boolean
  /** Where approved notes help during the sessions; null = nowhere. */
  readonly notes: Settings['scaffoldPlace'] | null
  /** Whether the replies after the sessions are asked for with the notes, too. */
  readonly measuredWithNotes: boolean
}

const untrained = { trainer: null, demonstrations: false, practice: false } as const
const bare = { notes: null, measuredWithNotes: false } as const
const alone = { ...bare, demonstrations: false, practice: false } as const

const methods = {
  none: { ...untrained, ...bare, meaning: 'nothing is learned' },
  'prompt-memory': {
    ...untrained,
    notes: 'system',
    measuredWithNotes: true,
    meaning: 'approved notes stand in the system prompt; nothing is trained',
  },
  grpo: { ...alone, trainer: 'grpo', meaning: 'rewards only' },
  opd: {
    ...alone,
    trainer: 'opd',
    meaning: 'distillation over the student’s top-K tokens from the model that sees the hint',
  },
  'opd-token': {
    ...alone,
    trainer: 'opd-token',
    meaning: 'distillation on the sampled token only',
  },
  hybrid: {
    ...alone,
    trainer: 'hybrid',
    meaning: 'rewards and distillation; no demonstrations, no practice',
  },
  'hybrid+demos': {
    ...alone,
    trainer: 'hybrid',
    demonstrations: true,
    meaning: 'hybrid, and accepted second tries are demonstrations for the first request',
  },
  'hybrid+demos+practice': {
    ...bare,
    trainer: 'hybrid',
    demonstrations: true,
    practice: true,
    meaning: 'the same, and approved notes are practised before each training',
  },
  full: {
    trainer: 'hybrid',
    demonstrations: true,
    practice: true,
    notes: 'last-message',
    measuredWithNotes: false,
    meaning: 'the same, and approved notes help in the prompt until they are learned (scaffold)',
  },
  combined: {
    ...alone,
    trainer: 'combined',
    meaning: 'one surrogate from the sum of both advantages',
  },
  'ppo-gae': {
    ...alone,
    trainer: 'ppo-gae',
    meaning: 'a value head with generalised advantages, and distillation at temperature 0.3',
  },
} as const satisfies Record<string, Method>

export type MethodName = keyof typeof methods

export const methodNames = Object.keys(methods) as MethodName[]

export function methodOf(name: MethodName): Method {
  return methods[name]
}

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name)
}

/** Whether this build's trainer knows what the method needs. */
export function isOffered(name: MethodName): boolean {
  const { trainer } = methodOf(name)
  return trainer === null || trainingConfigSchema.shape.method.safeParse(trainer).success
}

/** Throws `unavailable` where this build's trainer does not know the method. */
export function requireOffered(name: MethodName): void {
  if (isOffered(name)) return
  const offered = trainingConfigSchema.shape.method.options.join(', ')
  throw new AppError(
    'unavailable',
    `method ${name} needs the trainer's “${methodOf(name).trainer}”; this build offers ${offered}`,
  )
}

export interface Learning {
  readonly method: MethodName
  readonly seed: number
  /** What is absent stays as the app has it. */
  readonly overrides: TrialConfig['overrides']
}

/** Trainings and practice happen when the benchmark says so: nothing starts by itself between them. */
export function settingsFor(learning: Learning, current: Settings): Partial<Settings> {
  const method = methodOf(learning.method)
  const { training } = current
  return {
    scaffold: method.notes !== null,
    scaffoldPlace: method.notes ?? 'last-message',
    hintPolicy: 'automatic',
    practice: method.practice,
    schedule: 'as-i-chat',
    quietSeconds: 24 * 3600,
    training: {
      ...training,
      seed: learning.seed,
      weightDemo: method.demonstrations ? training.weightDemo : 0,
      ...givenOf(learning.overrides),
      ...(method.trainer === null ? {} : { method: trainerMethod(learning.method) }),
    },
  }
}

function givenOf(overrides: TrialConfig['overrides']): Partial<TrainingConfig> {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined))
}

function trainerMethod(name: MethodName): TrainingConfig['method'] {
  requireOffered(name)
  return trainingConfigSchema.shape.method.parse(methodOf(name).trainer)
}
