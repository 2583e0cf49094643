import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { learningStatusSchema } from '../../shared/contract/app.ts'
import { defaultSettings, type Settings } from '../../shared/domain/settings.ts'
import { learningStatus, type StatusInput } from './status.ts'

function status(change: Partial<StatusInput> = {}, settings: Partial<Settings> = {}) {
  return learningStatus({
    settings: { ...defaultSettings, ...settings },
    work: null,
    judging: 0,
    waiting: 0,
    isDue: false,
    quietMs: 0,
    undecidedHints: 0,
    activeVersion: 0,
    lastRun: null,
    unavailable: null,
    practisable: 0,
    ...change,
  })
}

const training = { phase: 'training', stage: 'updating', step: 3, steps: 8 } as const
const starting = { ...training, stage: null, step: null, steps: null }

describe('the status', () => {
  it.each([
    [{}, 'Waiting for 4 more signals.'],
    [{ waiting: 3 }, 'Waiting for 1 more signal.'],
    [{ undecidedHints: 1 }, 'Waiting for your decision on 1 hint.'],
    [{ lastRun: 'v1 is live.' }, 'Waiting for 4 more signals. Last run: v1 is live.'],
    [{ judging: 1 }, 'Reading what you said about the last reply.'],
    [{ isDue: true, waiting: 4, quietMs: 20_500 }, 'Training starts after 40 quiet seconds.'],
    [{ isDue: true, waiting: 4, quietMs: 60_000 }, 'Training is about to start.'],
    [{ work: training }, 'Training, step 3 of 8.'],
    [{ work: starting, activeVersion: 2 }, 'Training from v2: getting ready.'],
    [
      { work: { ...starting, stage: 'guard' as const } },
      'Training from the base: reading your replies again.',
    ],
    [{ work: starting }, 'Training from the base: getting ready.'],
    [{ unavailable: 'No ggml library.', work: training }, 'No ggml library.'],
  ])('of %j says "%s"', (change, sentence) => {
    expect(status(change).sentence).toBe(sentence)
  })

  it('says that it is paused and what is ready', () => {
    const paused = status({ waiting: 2, isDue: true }, { schedule: 'paused' })
    expect(paused).toMatchObject({ phase: 'paused', sentence: 'Paused. 2 signals ready.' })
  })

  it('counts down to the idle time where training waits for it', () => {
    const idle = { schedule: 'when-idle', idleMinutes: 5 } as const
    const { sentence } = status({ isDue: true, quietMs: 240_000 }, idle)
    expect(sentence).toBe('Training starts after 60 quiet seconds.')
  })

  it.each([
    [{}, 'Nothing to learn from yet: rate, correct or edit a reply.'],
    [
      { undecidedHints: 1 },
      'Approve or veto the open hint first: nothing else is ready to learn from.',
    ],
    [{ waiting: 1 }, null],
    [{ waiting: 1, work: training }, 'A run is in progress.'],
    [{ waiting: 1, unavailable: 'No model.' }, 'No model.'],
  ])('of %j says why training cannot start: %s', (change, reason) => {
    expect(status(change).trainBlocked).toBe(reason)
  })

  it('lets a paused user train by hand', () => {
    expect(status({ waiting: 1 }, { schedule: 'paused' }).trainBlocked).toBeNull()
  })

  it.each([
    [{}, 'There is no approved note that a rule can check.'],
    [{ practisable: 1 }, null],
    [{ practisable: 1, work: training }, 'A run is in progress.'],
  ])('of %j says why practice cannot start: %s', (change, reason) => {
    expect(status(change).practiceBlocked).toBe(reason)
  })

  it('always has one sentence, a phase that fits it, and fits the contract', () => {
    const work = fc.record({
      phase: fc.constantFrom('practising', 'training', 'checking', 'swapping'),
      step: fc.option(fc.nat()),
      steps: fc.option(fc.nat()),
      stage: fc.constantFrom(null, 'loading', 'guard', 'teacher', 'updating', 'writing'),
    })
    const input = fc.record({
      work: fc.option(work),
      judging: fc.nat({ max: 2 }),
      waiting: fc.nat({ max: 20 }),
      isDue: fc.boolean(),
      quietMs: fc.nat(),
      undecidedHints: fc.nat({ max: 2 }),
      activeVersion: fc.nat(),
      lastRun: fc.option(fc.constant('v1 is live.')),
      unavailable: fc.option(fc.constant('No model.')),
      practisable: fc.nat({ max: 2 }),
    }) as fc.Arbitrary<Partial<StatusInput>>
    fc.assert(
      fc.property(input, (change) => {
        const found = learningStatusSchema.parse(status(change))
        expect(found.sentence).toMatch(/^[A-Z].*\.$/u)
        expect(found.phase === 'unavailable').toBe(change.unavailable !== null)
        if (change.waiting === 0) expect(found.trainBlocked).not.toBeNull()
      }),
      { seed: 3 },
    )
  })
})
