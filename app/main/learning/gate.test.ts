import { describe, expect, it } from 'vitest'
import {
  learningBench,
  runReport,
  step,
  type BenchOptions,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import type { RunReport } from '../../shared/domain/training.ts'
import { runGate } from './gate.ts'

const twelve = 'one two three four five six seven eight nine ten eleven twelve'

/** The base says twelve words; version 1 says what a test tells it to. */
function says(text: string): BenchOptions {
  return {
    answer: ({ adapter }) => ({
      pieces: [adapter !== 'active' && adapter.version === 0 ? twelve : text],
    }),
  }
}

function gate(bench: LearningBench, report: RunReport = runReport()) {
  return runGate(bench.deps, {
    candidate: { version: 1, path: 'v1.gguf' },
    active: { version: 0, path: null },
    report,
    notes: [],
    signal: new AbortController().signal,
  })
}

async function verdicts(options: BenchOptions, report?: RunReport) {
  await using bench = await learningBench(options)
  const { report: found } = await gate(bench, report)
  return {
    ...found,
    names: found.checks.map(({ name, verdict }) => `${name} ${verdict}`),
  }
}

describe('the gate', () => {
  it('passes a candidate that stays close, and says what could not be tested yet', async () => {
    const found = await verdicts(says(twelve))
    expect(found.passed).toBe(true)
    expect(found.names).toEqual([
      'numbers passed',
      'drift passed',
      'length passed',
      'repetition passed',
      'preference not-tested',
    ])
    expect(found.sentence).toBe('There is no approved note to test yet.')
  })

  it.each([
    ['a loss', { loss: Number.NaN }],
    ['a norm', { gradientNorm: Number.POSITIVE_INFINITY }],
  ])('stops first at %s that is not finite', async (_name, change) => {
    const found = await verdicts(says(twelve), runReport({ steps: [step(), step(change)] }))
    expect(found.passed).toBe(false)
    expect(found.names).toEqual(['numbers failed'])
    expect(found.sentence).toBe('A loss or gradient was not a finite number.')
  })

  it('does not pass a run without a single update', async () => {
    const found = await verdicts(says(twelve), runReport({ steps: [] }))
    expect(found.names).toEqual(['numbers failed'])
  })

  it.each([
    [0.3, true],
    [0.301, false],
  ])('with a mean drift of %d passes: %s', async (kl, passed) => {
    const drift = () => [kl - 0.1, kl + 0.1]
    const found = await verdicts({ ...says(twelve), drift })
    expect(found.passed).toBe(passed)
    expect(found.checks[1]).toMatchObject({ name: 'drift', limit: 0.3 })
    expect(found.checks[1]?.value).toBeCloseTo(kl)
  })

  it('does not let a drift pass that is not a number', async () => {
    const found = await verdicts({ ...says(twelve), drift: () => [Number.NaN] })
    expect(found.names).toEqual(['numbers passed', 'drift failed'])
  })

  it('stops at replies under half or over twice as long as the base', async () => {
    const lengths = [5, 6, 24, 25].map((words) => 'word '.repeat(words))
    const found = await Promise.all(lengths.map((text) => verdicts(says(text))))
    expect(found.map(({ names }) => names[2])).toEqual([
      'length failed',
      'length passed',
      'length passed',
      'length failed',
    ])
    expect(found[0]?.sentence).toBe('Neutral replies are 5 words long, 12 with the base.')
  })

  it('stops at replies that repeat themselves', async () => {
    const found = await verdicts(says('so it goes on '.repeat(5)))
    expect(found.names.at(-1)).toBe('repetition failed')
    expect(found.sentence).toMatch(/^It repeats itself: \d+% of its phrases/u)
  })

  it('asks base and candidate the same prompts with the same seeds, and the base only once', async () => {
    await using bench = await learningBench(says(twelve))
    await gate(bench)
    await gate(bench)
    const asked = bench.policy.asked.map(({ adapter, seed, lane }) => [
      adapter === 'active' ? adapter : adapter.version,
      seed,
      lane,
    ])
    expect(asked).toEqual([
      [0, 1000, 'evaluate'],
      [1, 1000, 'evaluate'],
      [1, 1000, 'evaluate'],
    ])
  })

  it('is abandoned, not passed, when the program ends', async () => {
    const controller = new AbortController()
    await using bench = await learningBench({
      answer: () => {
        controller.abort()
        return { pieces: [twelve] }
      },
    })
    const ended = runGate(bench.deps, {
      candidate: { version: 1, path: 'v1.gguf' },
      active: { version: 0, path: null },
      report: runReport(),
      notes: [],
      signal: controller.signal,
    })
    await expect(ended).rejects.toThrow()
    expect(bench.store.value('gate-replies:test:12:96') ?? null).toBeNull()
  })
})
