import { describe, expect, it } from 'vitest'
import { demonstrationSample, trainingConfig, turnSample } from '../../../test/support/samples.ts'
import type { Sample, TrainingConfig } from '../../shared/domain/training.ts'
import { compressionRatio, isComparable, selectBatch, shortenPrompt } from './batch.ts'

const hint = { hintId: 'h', text: 'be brief', promptIds: [1, 2, 3, 9] }

function select(samples: readonly Sample[], config: Partial<TrainingConfig> = {}) {
  const whole = trainingConfig(config)
  return selectBatch({ samples, config: whole, vocabulary: 100, limit: whole.sequenceLimit })
}
const one = (change: Partial<Sample>, config: Partial<TrainingConfig> = {}) =>
  select([turnSample(change)], config)
const range = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i)

describe('terms of a sample', () => {
  it.each([
    ['rejected with a hint', { reward: -1, hints: [hint] }, [true, true, false]],
    ['rejected without a hint', { reward: -1 }, [true, false, false]],
    ['accepted', { reward: 1 }, [true, false, false]],
    ['undecided with a hint', { reward: null, hints: [hint] }, [false, true, false]],
    ['praised with words', { reward: 1, hints: [hint] }, [true, true, false]],
    ['a demonstration', { kind: 'demonstration', reward: null }, [false, false, true]],
  ] as const)('%s', (_, change, [rl, opd, demo]) => {
    expect(one(change as Partial<Sample>).items[0]).toMatchObject({ rl, opd, demo })
  })

  it('has no reward term for a reply given under a scaffold', () => {
    const scaffolded: Partial<Sample> = { reward: -1, sampledPromptIds: [1, 2, 3, 8] }
    expect(one({ ...scaffolded, hints: [hint] }).items[0]).toMatchObject({ rl: false, opd: true })
  })

  it('follows the method', () => {
    const mixed = [
      turnSample({ id: 'a', hints: [hint] }),
      turnSample({ id: 'b', reward: null, hints: [hint] }),
      demonstrationSample({ id: 'c' }),
    ]
    const terms = (method: TrainingConfig['method']) =>
      select(mixed, { method }).items.map(({ sample, rl, opd, demo }) => [sample.id, rl, opd, demo])
    expect(terms('grpo')).toEqual([['a', true, false, false]])
    expect(terms('opd')).toEqual([
      ['a', false, true, false],
      ['b', false, true, false],
    ])
    expect(terms('opd-token')).toEqual(terms('opd'))
    const whole = [
      ['a', true, true, false],
      ['b', false, true, false],
      ['c', false, false, true],
    ]
    for (const method of ['hybrid', 'combined', 'ppo-gae'] as const) {
      expect(terms(method)).toEqual(whole)
    }
  })

  it('leaves out what a weight of 0 switches off', () => {
    const sample = turnSample({ hints: [hint] })
    const config = { weightRl: 0, weightDemo: 0 }
    const [item] = select([sample], config).items
    expect(item).toMatchObject({ rl: false, opd: true })
    expect(select([demonstrationSample()], config).items).toEqual([])
  })
})

describe('exclusion', () => {
  it.each([
    ['no signal', { reward: null }],
    ['reply is empty', { responseIds: [] }],
    ['prompt is empty', { promptIds: [] }],
    ['outside the vocabulary', { responseIds: [4, 100] }],
    ['outside the vocabulary', { hints: [{ ...hint, promptIds: [-1] }] }],
    ['2 log-probabilities for 3', { samplerLogProbs: [-1, -2] }],
    ['leaves no room for a prompt', { responseIds: range(60) }],
    ['repeats itself', { responseIds: range(40).map((i) => 4 + (i % 4)) }],
  ] as const)('names the reason: %s', (reason, change) => {
    const batch = one(change as Partial<Sample>, { sequenceLimit: 64 })
    expect(batch.items).toEqual([])
    expect(batch.excluded).toEqual([{ sampleId: 'turn', reason: expect.stringContaining(reason) }])
  })

  it('takes at most 16 and leaves half to demonstrations, the newest first', () => {
    const turns = range(20).map((i) => turnSample({ id: `t${i}`, createdAt: i }))
    const demos = range(12).map((i) => demonstrationSample({ id: `d${i}`, createdAt: i }))
    const batch = select([...turns, ...demos])
    expect(batch.items).toHaveLength(16)
    expect(batch.items.filter((item) => item.demo).map((item) => item.sample.id)).toEqual(
      range(8, 4).map((i) => `d${i}`),
    )
    expect(batch.items.at(-1)?.sample.id).toBe('t19')
    expect(batch.excluded).toHaveLength(16)
    expect(select(demos).items).toHaveLength(12)
    expect(select([...turns.slice(0, 4), ...demos]).items).toHaveLength(16)
  })
})

describe('limits and temperature', () => {
  it('keeps head and tail of a long prompt and the whole reply', () => {
    const prompt = range(60)
    const batch = one({ promptIds: prompt, responseIds: range(34, 50) }, { sequenceLimit: 64 })
    expect(batch.items[0]?.promptIds).toEqual([...range(10), ...range(20, 40)])
    expect(batch.items[0]).toMatchObject({ shortened: true })
    expect(shortenPrompt([1, 2, 3], 3)).toEqual([1, 2, 3])
  })

  it('trains nearly greedy replies at 0.6 and demonstrations at 1', () => {
    const served = { samplerLogProbs: [-1, -1, -1] }
    const cold = one({ temperature: 0.1, ...served }).items[0]
    const warm = one({ temperature: 0.8, ...served }).items[0]
    const demo = select([demonstrationSample({ temperature: 0.8 })]).items[0]
    expect([cold?.temperature, warm?.temperature, demo?.temperature]).toEqual([0.6, 0.8, 1])
    expect([cold, warm, demo].map((item) => item !== undefined && isComparable(item))).toEqual([
      false,
      true,
      false,
    ])
  })

  it('hands at most three hints on, shortest first', () => {
    const hints = ['four words are here', 'three words here', 'two words', 'one']
    const given = hints.map((text, i) => ({ hintId: `${i}`, text, promptIds: [1] }))
    expect(one({ hints: given }).items[0]?.hints.map((h) => h.hintId)).toEqual(['3', '2', '1'])
  })
})

describe('compression ratio', () => {
  it('is 1 without repetition and high in a loop', () => {
    expect(compressionRatio(range(50))).toBe(1)
    expect(compressionRatio(range(100).map((i) => i % 10))).toBeCloseTo(100 / 11, 6)
    expect(compressionRatio([7])).toBe(1)
  })
})
