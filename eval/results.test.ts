import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exampleBase, exampleConfig, exampleNeutral, modelRow } from './example-rows.ts'
import { fullNumbers, trialJob, type Job } from './plan.ts'
import { openResults, type Provenance } from './results.ts'
import { finished, planLines, secondsLeft } from './run-plan.ts'
import { keyOf } from './trial.ts'

const provenance = (): Provenance => ({ at: '2026-01-01', machine: 'a machine', commit: 'abc' })

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'hone-results-'))
  const file = join(path, 'deep', 'results.jsonl')
  return { file, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

const trial = (config = exampleConfig()) => {
  const { model: _, ...row } = modelRow({ seed: config.seed })
  return { kind: 'trial' as const, config, rows: [row], seconds: 600 }
}

test('what was added is there when the file is opened again', () => {
  using place = folder()
  const first = openResults(place.file, provenance)
  first.add(exampleBase)
  first.add(exampleNeutral)
  first.add(trial())
  const again = openResults(place.file, provenance)
  expect(again.all()).toEqual(first.all())
  expect(again.base('small.gguf', 'brief', 50)).toMatchObject({ told: exampleBase.told })
  expect(again.neutral('small.gguf', 20)).not.toBeNull()
  expect(again.trial(exampleConfig())).toMatchObject({ seconds: 600 })
  expect(again.all()[0]).toMatchObject({ commit: 'abc', machine: 'a machine' })
})

test('a line that a kill cut short is dropped, and what follows it stands on its own line', () => {
  using place = folder()
  const before = openResults(place.file, provenance)
  before.add(trial())
  appendFileSync(place.file, '{"kind":"trial","config":{"mod')
  const after = openResults(place.file, provenance)
  expect(after.all()).toHaveLength(1)
  after.add(trial(exampleConfig({ seed: 2 })))
  expect(openResults(place.file, provenance).all()).toHaveLength(2)
  expect(readFileSync(place.file, 'utf8').trimEnd().split('\n')).toHaveLength(2)
})

test('a whole line that is no result is named, not skipped', () => {
  using place = folder()
  openResults(place.file, provenance).add(trial())
  appendFileSync(place.file, '{"kind":"trial"}\n')
  expect(() => openResults(place.file, provenance)).toThrow('line 2 of')
})

test('any difference in the configuration makes it another row, the order of its fields does not', () => {
  const results = openResults(null, provenance)
  results.add(trial())
  const { seed, ...others } = exampleConfig()
  expect(results.trial({ ...others, seed })).not.toBeNull()
  const changes = [
    { seed: 2 },
    { sessionsCap: 72 },
    { wrongSignals: 0.1 },
    { overrides: { topK: 8 } },
  ]
  for (const change of changes) expect(results.trial(exampleConfig(change))).toBeNull()
  expect(keyOf({ ...others, seed })).toBe(keyOf(exampleConfig()))
})

test('base rates on fewer replies than wanted do not count', () => {
  const results = openResults(null, provenance)
  results.add({ ...exampleBase, bare: exampleBase.bare.slice(0, 12) })
  expect(results.base('small.gguf', 'brief', 50)).toBeNull()
  expect(results.base('small.gguf', 'brief', 12)).not.toBeNull()
  expect(results.base('other.gguf', 'brief', 12)).toBeNull()
})

test('finished parts of a plan are told and cost no time; the others cost what alike ones took', () => {
  const results = openResults(null, provenance)
  results.add(exampleBase)
  results.add(exampleNeutral)
  const common = {
    modelPath: '/m/small.gguf',
    numbers: fullNumbers,
    wording: 'all',
    user: 'templates',
  } as const
  const about = { setting: 'separate', personas: ['brief'], method: 'hybrid' } as const
  const jobs: Job[] = [
    { kind: 'base', modelPath: '/m/small.gguf', persona: 'brief' },
    trialJob(common, { ...about, seed: 1 }),
    trialJob(common, { ...about, seed: 2 }),
  ]
  results.add(trial())
  const run = { jobs, numbers: fullNumbers, results }
  expect(jobs.map((job) => finished(run, job) !== null)).toEqual([true, true, false])
  expect(secondsLeft(run)).toBe(600)
  expect(planLines(run)).toEqual([
    '     done  base rate of brief',
    '     done  brief · hybrid · seed 1',
    '   10 min  brief · hybrid · seed 2',
    'about 10 min are left',
  ])
})
