import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { preferenceChart, sessionsChart } from './charts.ts'
import { blocksOf, writeLearningDocs } from './docs.ts'
import { exampleBase, exampleConfig, exampleNeutral, modelRow } from './example-rows.ts'
import { groupsOf } from './aggregate.ts'
import { fullNumbers, trialJob, type Job } from './plan.ts'
import { openResults } from './results.ts'

const common = {
  modelPath: '/m/small.gguf',
  numbers: fullNumbers,
  wording: 'all',
  user: 'templates',
} as const

const jobs: Job[] = [1, 2].map((seed) =>
  trialJob(common, { setting: 'separate', personas: ['brief'], method: 'hybrid', seed }),
)

function partial() {
  const results = openResults(null, () => ({ at: 'today', machine: 'A1, 2 cores', commit: 'abc' }))
  results.add(exampleBase)
  results.add(exampleNeutral)
  const { model: _, ...row } = modelRow({ reached: false, sessionsToTarget: 24 })
  results.add({ kind: 'trial', config: exampleConfig(), rows: [row], seconds: 600 })
  return { jobs, numbers: fullNumbers, results }
}

test('an unfinished table says how much of it is there, where and from what it was measured', () => {
  const blocks = blocksOf(partial(), [])
  expect(blocks['state']).toContain('**1 of 2 parts of the plan are measured**')
  expect(blocks['state']).toContain('A1, 2 cores')
  expect(blocks['state']).toContain('commit abc')
  expect(blocks['table']).toContain('| `hybrid` | 24+ | 24.0 |')
  expect(blocks['base']).toContain('3 of 50 (2–16%)')
  expect(blocks['controls']).toContain('15 → 14 of 20, within noise')
  expect(blocks['judge']).toContain('| 90% | 90% |')
})

test('without results every block says that nothing is measured', () => {
  const results = openResults(null, () => ({ at: '', machine: '', commit: '' }))
  const blocks = blocksOf({ jobs, numbers: fullNumbers, results }, [])
  for (const name of ['base', 'table', 'variants', 'controls', 'judge']) {
    expect(blocks[name]).toBe('Nothing is measured yet.')
  }
})

test('the document has a place for every block, and what is outside stays', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hone-docs-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
  const file = join(folder, 'learning.md')
  copyFileSync(resolve(import.meta.dirname, '../docs/learning.md'), file)
  writeLearningDocs(file, partial())
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('| `hybrid` | 24+ |')
  expect(text).toContain('## How it is measured')
  expect(text).toContain('![Sessions to target by method](learning-sessions.svg)')
  expect(existsSync(join(folder, 'learning-sessions.svg'))).toBe(true)
})

test('bars show each seed, and grey where no seed got there', () => {
  const groups = groupsOf([
    modelRow({ seed: 1, sessionsToTarget: 6 }),
    modelRow({ seed: 2, sessionsToTarget: 8 }),
    modelRow({ method: 'none', reached: false, sessionsToTarget: 24 }),
  ])
  const svg = sessionsChart(groups)
  expect(svg.match(/class="seed"/g)).toHaveLength(3)
  expect(svg.match(/class="bar"/g)).toHaveLength(1)
  expect(svg.match(/class="open"/g)).toHaveLength(1)
  expect(svg).toContain('>7.0</text>')
  expect(svg).toContain('>not reached</text>')
})

test('lines of nearness need a row of one of the two methods', () => {
  const groups = groupsOf([modelRow({}), modelRow({ persona: 'ta' })])
  expect(preferenceChart(groups, ['full', 'none'])).toBeNull()
  const svg = preferenceChart(groups, ['hybrid', 'none']) ?? ''
  expect(svg).toContain('>brief</text>')
  expect(svg).toContain('>ta</text>')
})
