// What is to be measured, in order: what tells most comes first, so that a table that is not finished is worth reading.
import { modelName } from './benchmark.ts'
import { isMethodName, isOffered, type MethodName } from './methods.ts'
import { personas as allPersonas } from './personas/index.ts'
import { keyOf, trialName, type TrialConfig } from './trial.ts'

export interface BaseJob {
  readonly kind: 'base'
  readonly modelPath: string
  readonly persona: string
}

export interface NeutralJob {
  readonly kind: 'neutral'
  readonly modelPath: string
}

export interface TrialJob {
  readonly kind: 'trial'
  readonly modelPath: string
  readonly config: TrialConfig
}

export type Job = BaseJob | NeutralJob | TrialJob

/** How much is measured in each part; fewer replies are quicker and noisier. */
export interface Numbers {
  readonly sessionsCap: number
  /** Rounds between the trainings of a separate run. */
  readonly trainEvery: number
  readonly trainEveryJoint: number
  /** Bare first replies of the base, and those with the hint. */
  readonly baseReplies: number
  readonly toldReplies: number
  /** First replies after the sessions. */
  readonly firstReplies: number
  readonly controlReplies: number
  /** Exchanges on which the drift is measured. */
  readonly controlExchanges: number
}

/** For a single run and the table: the base rates on 50 replies, as their thresholds were set. */
export const fullNumbers: Numbers = {
  sessionsCap: 24,
  trainEvery: 1,
  trainEveryJoint: 1,
  baseReplies: 50,
  toldReplies: 24,
  firstReplies: 24,
  controlReplies: 20,
  controlExchanges: 50,
}

/** For 20 minutes on two cores. */
export const quickNumbers: Numbers = {
  sessionsCap: 10,
  trainEvery: 1,
  trainEveryJoint: 1,
  baseReplies: 12,
  toldReplies: 8,
  firstReplies: 12,
  controlReplies: 8,
  controlExchanges: 16,
}

/** What every trial of a plan has in common. */
export interface Common {
  readonly modelPath: string
  readonly numbers: Numbers
  readonly wording: TrialConfig['wording']
  readonly user: string
}

interface Varied {
  readonly setting: TrialConfig['setting']
  readonly personas: readonly string[]
  readonly method: MethodName
  readonly seed: number
  readonly wrongSignals?: number
  readonly overrides?: TrialConfig['overrides']
}

export function trialJob(common: Common, varied: Varied): TrialJob {
  const { numbers } = common
  return {
    kind: 'trial',
    modelPath: common.modelPath,
    config: {
      model: modelName(common.modelPath),
      setting: varied.setting,
      personas: [...varied.personas],
      method: varied.method,
      seed: varied.seed,
      sessionsCap: numbers.sessionsCap,
      trainEvery: varied.setting === 'joint' ? numbers.trainEveryJoint : numbers.trainEvery,
      firstReplies: numbers.firstReplies,
      controlReplies: numbers.controlReplies,
      wording: common.wording,
      wrongSignals: varied.wrongSignals ?? 0,
      overrides: varied.overrides ?? {},
      user: common.user,
    },
  }
}

/** Base rates and neutral replies come before everything that is compared with them. */
export function baseJobs(modelPath: string, personas: readonly string[]): Job[] {
  return [
    ...personas.map((persona): BaseJob => ({ kind: 'base', modelPath, persona })),
    { kind: 'neutral', modelPath },
  ]
}

export interface TableRequest extends Common {
  readonly personas: readonly string[]
  readonly methods: readonly MethodName[]
  readonly seeds: number
  readonly settings: readonly TrialConfig['setting'][]
  /** Another model for the personas that the first cannot please; null = none. */
  readonly secondModelPath: string | null
}

/** The methods that the issue compares, the most telling first. */
export const tableMethods: readonly MethodName[] = [
  'hybrid+demos+practice',
  'prompt-memory',
  'none',
  'grpo',
  'opd',
  'hybrid',
  'full',
]

const main: MethodName = 'hybrid+demos+practice'

/** Run with one persona and one seed. */
const otherMethods: readonly MethodName[] = ['combined', 'ppo-gae', 'opd-token', 'hybrid+demos']

const ablations: readonly TrialConfig['overrides'][] = [
  { topK: 2 },
  { topK: 8 },
  { topK: 20 },
  { selection: 'random' },
  { selection: 'token' },
  { support: 'overlap' },
  { support: 'teacher' },
  { support: 'union' },
  { differenceClip: 0.5 },
  { differenceClip: 2 },
  { teacher: 'active' },
]

/** The first model never meets this wish, even when told; it shows in rows of their own, after the others. */
const beyondFirstModel = 'shell-first'

const secondModelPersonas = ['ta', 'teacher', 'shell-first']
const secondModelMethods: readonly MethodName[] = [main, 'prompt-memory', 'none', 'hybrid']

/** Every part once, in the order in which it is run. */
export function tablePlan(request: TableRequest): Job[] {
  const { modelPath, secondModelPath } = request
  const known = allPersonas.map(({ name }) => name).filter((it) => request.personas.includes(it))
  const usual = known.filter((name) => name !== beyondFirstModel)
  const one = usual.includes('brief') ? 'brief' : (usual[0] ?? known[0])
  const seeds = Array.from({ length: request.seeds }, (_, index) => index + 1)
  const [first, ...others] = seeds.map((seed) => [
    ...(request.settings.includes('separate') ? separate(request, usual, seed) : []),
    ...(request.settings.includes('joint') ? joint(request, usual, seed) : []),
    ...wrongSignals(request, usual, seed),
  ])
  return withoutRepeats([
    ...baseJobs(modelPath, known),
    ...(first ?? []),
    ...(one === undefined ? [] : onePersona(request, one)),
    ...(secondModelPath === null ? [] : secondModel(request, secondModelPath)),
    ...(known.includes(beyondFirstModel) ? beyond(request) : []),
    ...others.flat(),
  ])
}

function separate(request: TableRequest, personas: readonly string[], seed: number): Job[] {
  return request.methods.flatMap((method) =>
    personas.map((persona) =>
      trialJob(request, { setting: 'separate', personas: [persona], method, seed }),
    ),
  )
}

function joint(request: TableRequest, personas: readonly string[], seed: number): Job[] {
  if (personas.length < 2) return []
  return request.methods.map((method) =>
    trialJob(request, { setting: 'joint', personas, method, seed }),
  )
}

function wrongSignals(request: TableRequest, personas: readonly string[], seed: number): Job[] {
  if (!request.methods.includes(main)) return []
  return personas.map((persona) =>
    trialJob(request, {
      ...{ setting: 'separate', personas: [persona], method: main, seed, wrongSignals: 0.1 },
    }),
  )
}

function onePersona(request: TableRequest, persona: string): Job[] {
  const about = { setting: 'separate', personas: [persona], seed: 1 } as const
  return [
    ...otherMethods.map((method) => trialJob(request, { ...about, method })),
    ...ablations.map((overrides) => trialJob(request, { ...about, method: 'hybrid', overrides })),
  ]
}

function secondModel(request: TableRequest, modelPath: string): Job[] {
  const common = { ...request, modelPath }
  return [
    ...baseJobs(modelPath, secondModelPersonas),
    ...secondModelMethods.flatMap((method) =>
      secondModelPersonas.map((persona) =>
        trialJob(common, { setting: 'separate', personas: [persona], method, seed: 1 }),
      ),
    ),
  ]
}

function beyond(request: TableRequest): Job[] {
  return ([main, 'prompt-memory', 'none'] as const).map((method) =>
    trialJob(request, { setting: 'separate', personas: [beyondFirstModel], method, seed: 1 }),
  )
}

function withoutRepeats(jobs: readonly Job[]): Job[] {
  return [...new Map(jobs.map((job) => [keyOfJob(job), job])).values()]
}

function keyOfJob(job: Job): string {
  switch (job.kind) {
    case 'trial':
      return keyOf(job.config)
    case 'base':
      return `base ${job.modelPath} ${job.persona}`
    case 'neutral':
      return `neutral ${job.modelPath}`
  }
}

export function jobName(job: Job): string {
  switch (job.kind) {
    case 'trial':
      return trialName(job.config)
    case 'base':
      return `base rate of ${job.persona}`
    case 'neutral':
      return 'neutral replies of the base'
  }
}

/** Whether this build can run it. */
export function isPossible(job: Job): boolean {
  return job.kind !== 'trial' || (isMethodName(job.config.method) && isOffered(job.config.method))
}
