import { describe, expect, test } from 'vitest'
import type { Overlap } from '../../shared/domain/training.ts'
import { listEvents } from './events.ts'
import { newSample, runReport, stepReport, testFolder, testStore } from './test-store.ts'

const top = { ids: [5, 6], logProbs: [-0.1, -2.302585092994046] }

function overlapOf(sampleId: string, words = 'Be short.'): Overlap {
  return {
    sampleId,
    responseIds: [5, 2],
    topK: 2,
    student: [top, top],
    hints: [{ hintId: 'hint-1', text: words, overlap: [2, 1], teacher: [top, top] }],
    chosen: [0, 0],
  }
}

describe('samples', () => {
  test('a sample comes back as it was, ready and unused', () => {
    using env = testStore()
    const plain = newSample('sample-1')
    const demonstration = newSample('sample-2', {
      kind: 'demonstration',
      turnId: null,
      chatId: null,
      samplerLogProbs: null,
      sampledPromptIds: [4, 4],
      reward: null,
      hints: [],
      noteIds: [],
      origin: 'practice',
    })
    env.store.addSample(plain)
    env.store.addSample(demonstration)
    const life = { state: 'ready', reason: null, uses: 0 }
    expect(env.store.sample('sample-1')).toEqual({ sample: plain, ...life })
    expect(env.store.sample('sample-2')).toEqual({ sample: demonstration, ...life })
    expect(env.store.sample('none')).toBeNull()
  })

  test('the same id twice is a conflict and changes nothing', () => {
    using env = testStore()
    env.store.addSample(newSample('sample-1'))
    const again = () => env.store.addSample(newSample('sample-1', { reward: 1 }))
    expect(again).toThrow(expect.objectContaining({ code: 'conflict' }))
    expect(env.store.sample('sample-1')?.sample.reward).toBe(-1)
  })

  test('samples are found by state and by turn', () => {
    using env = testStore()
    for (const id of ['a', 'b', 'c']) env.store.addSample(newSample(id))
    env.store.addSample(newSample('d', { turnId: 'turn-2' }))
    env.store.setSampleState('b', 'used')
    env.store.setSampleState('c', 'vetoed', 'you vetoed its hint')
    const found = env.store.samples(['ready', 'used']).map(({ sample }) => sample.id)
    expect(found).toEqual(['a', 'b', 'd'])
    expect(env.store.samples([])).toEqual([])
    expect(env.store.samplesOfTurn('turn-1').map(({ state }) => state)).toEqual([
      'ready',
      'used',
      'vetoed',
    ])
    expect(env.store.sample('c')?.reason).toBe('you vetoed its hint')
  })

  test('a veto is appended to the events', () => {
    using env = testStore()
    env.store.addSample(newSample('a'))
    env.store.setSampleState('a', 'vetoed', 'hint vetoed')
    expect(listEvents(env.connection).at(-1)).toMatchObject({
      kind: 'sample-state',
      subject: 'a',
      detail: { from: 'ready', to: 'vetoed', reason: 'hint vetoed' },
    })
  })

  test('uses are counted for all samples or for none', () => {
    using env = testStore()
    env.store.addSample(newSample('a'))
    env.store.countUse(['a', 'a'])
    expect(() => env.store.countUse(['a', 'none'])).toThrow('there is no sample none')
    expect(env.store.sample('a')?.uses).toBe(2)
  })
})

describe('runs', () => {
  test('a run begins running and ends with its outcome once', () => {
    using env = testStore()
    const run = env.store.startRun(['a', 'b'])
    expect(run).toMatchObject({ outcome: 'running', endedAt: null, sampleIds: ['a', 'b'] })
    const end = { outcome: 'live', sentence: 'Version 1 is live.', version: 1 } as const
    const ended = env.store.finishRun(run.id, { ...end, report: runReport() })
    expect(ended).toMatchObject({ ...end, report: runReport() })
    expect(env.store.runs(5)).toEqual([ended])
    expect(() => env.store.finishRun(run.id, { ...end, report: null })).toThrow('already ended')
  })

  test('runs are listed newest first up to the limit', () => {
    using env = testStore()
    const [, second, third] = [
      env.store.startRun([]),
      env.store.startRun([]),
      env.store.startRun([]),
    ]
    expect(env.store.runs(2)).toEqual([third, second])
  })

  test('after a crash the running ones read as interrupted', () => {
    using folder = testFolder()
    {
      using env = testStore(folder)
      env.store.startRun(['a'])
      const done = env.store.startRun(['b'])
      env.store.finishRun(done.id, {
        outcome: 'refused',
        sentence: 's',
        version: null,
        report: null,
      })
    }
    using env = testStore(folder)
    const [closed, ...others] = env.store.closeInterruptedRuns()
    expect(closed).toMatchObject({ outcome: 'interrupted', sampleIds: ['a'] })
    expect(closed?.endedAt).toBeTypeOf('number')
    expect(others).toEqual([])
    expect(env.store.closeInterruptedRuns()).toEqual([])
  })

  test('a report written before a setting existed gets the default of that setting', () => {
    using env = testStore()
    const run = env.store.startRun([])
    const end = { outcome: 'live', sentence: '', version: 1, report: runReport() } as const
    env.store.finishRun(run.id, end)
    env.connection.run(`UPDATE runs SET report = json_remove(report, '$.config.negativeWeight')`)
    expect(env.store.runs(1)[0]?.report).toEqual(runReport())
  })
})

describe('steps and overlaps', () => {
  test('steps are the newest ones, oldest first, with exact numbers', () => {
    using env = testStore()
    for (const step of [1, 2, 3]) env.store.addStep('run-1', stepReport(step))
    expect(env.store.steps(2).map(({ runId, step }) => [runId, step])).toEqual([
      ['run-1', stepReport(2)],
      ['run-1', stepReport(3)],
    ])
  })

  test('a step with a NaN is refused', () => {
    using env = testStore()
    expect(() => env.store.addStep('run-1', { ...stepReport(1), loss: Number.NaN })).toThrow(
      'step.loss',
    )
    expect(env.store.steps(5)).toEqual([])
  })

  test('an overlap is listed by its size and read whole; the newest of a sample counts', () => {
    using env = testStore()
    env.store.addOverlap('run-1', overlapOf('a', 'old'))
    env.store.addOverlap('run-1', overlapOf('b'))
    env.store.addOverlap('run-1', overlapOf('a', 'new'))
    expect(env.store.overlaps(5)).toMatchObject([
      { runId: 'run-1', sampleId: 'a', hints: 1, positions: 2 },
      { runId: 'run-1', sampleId: 'b', hints: 1, positions: 2 },
    ])
    expect(env.store.overlaps(1)).toHaveLength(1)
    expect(env.store.overlap('run-1', 'a')?.overlap).toEqual(overlapOf('a', 'new'))
    expect(env.store.overlap('run-2', 'a')).toBeNull()
  })
})
