import { describe, expect, it } from 'vitest'
import type { Sample } from '../../shared/domain/training.ts'
import type { StoredSample } from '../store/types.ts'
import { batchLimit, isDue, selectBatch } from './select.ts'

let clock = 0

function stored(change: Partial<Sample>, uses = 0): StoredSample {
  clock += 1
  const sample: Sample = {
    id: `s${clock}`,
    kind: 'turn',
    turnId: null,
    chatId: 'c1',
    promptIds: [1],
    responseIds: [2, 3],
    temperature: 0.6,
    rewardMask: null,
    samplerLogProbs: null,
    sampledPromptIds: null,
    version: 0,
    reward: -1,
    hints: [],
    noteIds: [],
    origin: 'reply',
    createdAt: clock,
    ...change,
  }
  return { sample, state: 'ready', reason: null, uses }
}

function many(count: number, change: Partial<Sample>): StoredSample[] {
  return Array.from({ length: count }, () => stored(change))
}

describe('selectBatch', () => {
  it('takes demonstrations first but at most half of an ordinary batch', () => {
    const waiting = [
      ...many(20, { kind: 'turn' }),
      ...many(20, { kind: 'demonstration', origin: 'practice', reward: null }),
    ]
    const { fresh } = selectBatch(waiting, [])
    expect(fresh).toHaveLength(batchLimit)
    expect(fresh.filter((sample) => sample.kind === 'demonstration')).toHaveLength(8)
  })

  it('fills a batch with the newest demonstrations when there is nothing else', () => {
    const waiting = many(20, { kind: 'demonstration', origin: 'practice', reward: null })
    const { fresh } = selectBatch(waiting, [])
    expect(fresh.map(({ id }) => id)).toEqual(
      waiting
        .slice(4)
        .map(({ sample }) => sample.id)
        .toReversed(),
    )
  })

  it('lets one chat alone fill a run', () => {
    expect(selectBatch(many(3, { chatId: 'only' }), []).fresh).toHaveLength(3)
  })

  it('bounds one session to half once three are waiting', () => {
    const waiting = [
      ...many(3, { chatId: 'a' }),
      ...many(3, { chatId: 'b' }),
      ...many(30, { chatId: 'c' }),
    ]
    const { fresh } = selectBatch(waiting, [])
    expect(fresh.filter((sample) => sample.chatId === 'c')).toHaveLength(8)
  })

  it('replays at most a quarter, only what was good and not too often', () => {
    const used = [
      ...many(10, { reward: 1 }).map((each) => ({ ...each, state: 'used' as const, uses: 1 })),
      ...many(10, { reward: -1 }).map((each) => ({ ...each, state: 'used' as const, uses: 1 })),
      ...many(10, { reward: 1 }).map((each) => ({ ...each, state: 'used' as const, uses: 3 })),
    ]
    const { fresh, replayed } = selectBatch(many(6, {}), used)
    expect(fresh).toHaveLength(6)
    expect(replayed).toHaveLength(2)
    expect(replayed.every((sample) => sample.reward === 1)).toBe(true)
  })

  it('replays only what room the fresh ones leave, demonstrations too', () => {
    const good = many(10, { kind: 'demonstration', origin: 'accepted-revision', reward: null })
    const used = good.map((each) => ({ ...each, state: 'used' as const, uses: 1 }))
    const replayed = (fresh: number) => selectBatch(many(fresh, {}), used).replayed.length
    expect([12, 14, batchLimit].map(replayed)).toEqual([4, 2, 0])
    // No share of a batch that is not there.
    expect(replayed(0)).toBe(0)
  })

  it('gives an empty batch from nothing', () => {
    expect(selectBatch([], [])).toEqual({ fresh: [], replayed: [] })
  })
})

describe('isDue', () => {
  it('is due at four samples or one demonstration of the user, not at one rejected turn', () => {
    expect(isDue(many(1, {}), 4)).toBe(false)
    expect(isDue(many(4, {}), 4)).toBe(true)
    expect(isDue(many(1, { kind: 'demonstration', origin: 'accepted-revision' }), 4)).toBe(true)
    expect(isDue(many(1, { kind: 'demonstration', origin: 'practice' }), 4)).toBe(false)
  })
})
