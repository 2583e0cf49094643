import { expect, test } from 'vitest'
import { trainingConfigSchema } from '../app/shared/domain/training.ts'
import { defaultSettings } from '../app/shared/domain/settings.ts'
import { isOffered, methodNames, methodOf, requireOffered, settingsFor } from './methods.ts'
import { fullNumbers, jobName, tableMethods, tablePlan, type Job, type TrialJob } from './plan.ts'
import { phasesOf } from './run-plan.ts'
import { keyOf, variantOf } from './trial.ts'

const request = {
  modelPath: '/m/small.gguf',
  numbers: fullNumbers,
  wording: 'all',
  user: 'templates',
  personas: ['brief', 'shell-first', 'student', 'ta', 'teacher'],
  methods: tableMethods,
  seeds: 3,
  settings: ['separate', 'joint'],
  secondModelPath: '/m/second.gguf',
} as const

const plan = tablePlan(request)
const trials = plan.filter((job): job is TrialJob => job.kind === 'trial')
const index = (isIt: (job: Job) => boolean): number => plan.findIndex(isIt)

test('the table holds every method with every persona and seed, separate and joint', () => {
  for (const method of tableMethods) {
    for (const seed of [1, 2, 3]) {
      const of = trials.filter(
        ({ config }) =>
          config.method === method &&
          config.seed === seed &&
          config.model === 'small.gguf' &&
          config.wrongSignals === 0 &&
          variantOf(config) === '',
      )
      const separate = of.filter(({ config }) => config.setting === 'separate')
      const usual = separate
        .flatMap(({ config }) => config.personas)
        .filter((it) => it !== 'shell-first')
      expect(usual.toSorted()).toEqual(['brief', 'student', 'ta', 'teacher'])
      const joint = of.filter(({ config }) => config.setting === 'joint')
      expect(joint.map(({ config }) => config.personas)).toEqual([
        ['student', 'ta', 'teacher', 'brief'],
      ])
    }
  }
})

test('no row is planned twice', () => {
  const keys = trials.map(({ config }) => keyOf(config))
  expect(new Set(keys).size).toBe(keys.length)
})

test('base rates come first, the first seed before the others, ablations in between', () => {
  const firstTrial = index((job) => job.kind === 'trial')
  const ofFirstModel = plan.slice(0, firstTrial)
  expect(ofFirstModel.map(jobName)).toEqual([
    ...request.personas.toSorted(byPlace).map((name) => `base rate of ${name}`),
    'neutral replies of the base',
  ])
  const lastOfSeed1 = plan.findLastIndex((job) => job.kind === 'trial' && job.config.seed === 1)
  const firstOfSeed2 = index((job) => job.kind === 'trial' && job.config.seed === 2)
  expect(lastOfSeed1).toBeLessThan(firstOfSeed2)
  const combined = index((job) => job.kind === 'trial' && job.config.method === 'combined')
  expect(combined).toBeGreaterThan(firstTrial)
  expect(combined).toBeLessThan(firstOfSeed2)
})

function byPlace(left: string, right: string): number {
  const order = ['student', 'ta', 'teacher', 'brief', 'shell-first']
  return order.indexOf(left) - order.indexOf(right)
}

test('what trials are compared with is a phase of its own before them', () => {
  const phases = phasesOf(plan)
  expect(phases.flat()).toEqual(plan)
  const kinds = phases.map((phase) => [...new Set(phase.map(({ kind }) => kind))].toSorted())
  expect(kinds).toEqual([['base', 'neutral'], ['trial'], ['base', 'neutral'], ['trial']])
})

test('10% wrong signals, each ablation once and the second model are in the plan', () => {
  expect(trials.filter(({ config }) => config.wrongSignals === 0.1)).toHaveLength(12)
  const variants = trials.map(({ config }) => variantOf(config)).filter((text) => text !== '')
  expect(variants).toContain('K = 20')
  expect(variants).toContain('random hint')
  expect(variants).toContain('support union')
  expect(variants).toContain('C = 2')
  expect(variants).toContain('teacher active')
  expect(new Set(variants).size).toBe(variants.length)
  const second = trials.filter(({ config }) => config.model === 'second.gguf')
  expect([...new Set(second.flatMap(({ config }) => config.personas))].toSorted()).toEqual([
    'shell-first',
    'ta',
    'teacher',
  ])
})

test('a method that this build does not offer is refused with the ones that it does', () => {
  const missing = methodNames.filter((name) => !isOffered(name))
  for (const name of missing) {
    expect(() => requireOffered(name)).toThrow(
      `needs the trainer's “${methodOf(name).trainer}”; this build offers hybrid`,
    )
  }
  for (const name of ['none', 'prompt-memory', 'hybrid', 'full'] as const) {
    expect(() => requireOffered(name)).not.toThrow()
  }
})

test('methods differ from the app’s settings only by what they name', () => {
  const settings = (method: Parameters<typeof methodOf>[0]) =>
    settingsFor({ method, seed: 4, overrides: {} }, defaultSettings)
  const { training } = defaultSettings
  expect(settings('grpo').training).toEqual({ ...training, method: 'grpo', seed: 4, weightDemo: 0 })
  expect(settings('hybrid').training).toEqual({ ...training, seed: 4, weightDemo: 0 })
  expect(settings('hybrid+demos').training).toEqual({ ...training, seed: 4 })
  expect(settings('hybrid+demos')).toMatchObject({ practice: false, scaffold: false })
  expect(settings('hybrid+demos+practice')).toMatchObject({ practice: true, scaffold: false })
  expect(settings('full')).toMatchObject({ scaffold: true, scaffoldPlace: 'last-message' })
  expect(settings('prompt-memory')).toMatchObject({ scaffold: true, scaffoldPlace: 'system' })
})

test('flags go into the training’s configuration, and what is not given stays', () => {
  const { training } = settingsFor(
    { method: 'hybrid', seed: 1, overrides: { topK: 8, support: undefined, differenceClip: 2 } },
    defaultSettings,
  )
  expect(training).toMatchObject({
    topK: 8,
    differenceClip: 2,
    support: 'student',
    teacher: 'base',
  })
  expect(trainingConfigSchema.safeParse(training).success).toBe(true)
})
