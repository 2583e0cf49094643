import { describe, expect, test } from 'vitest'
import { listEvents } from './events.ts'
import { newTurn, testStore } from './test-store.ts'
import type { Turn } from '../../shared/domain/turn.ts'

function withTurn(change: Partial<Turn> = {}) {
  const env = testStore()
  const chat = env.store.createChat()
  const turn = env.store.addTurn(newTurn(chat.id, change))
  return { ...env, chat, turn, [Symbol.dispose]: () => env[Symbol.dispose]() }
}

describe('turns', () => {
  test('ids and log-probabilities come back bit by bit', () => {
    const logProbs = [-0, -0.1, -1 / 3, -5e-324, -1.7976931348623157e308]
    using env = withTurn({ logProbs, responseIds: [0, -1, 2 ** 31 - 1, -(2 ** 31), 151_643] })
    expect(env.store.turn(env.turn.id)).toEqual(env.turn)
    expect(env.store.turn(env.turn.id)?.logProbs?.map((value) => Object.is(value, -0))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  test('unknown log-probabilities stay unknown', () => {
    using env = withTurn({ logProbs: null, responseIds: [] })
    expect(env.store.turn(env.turn.id)).toMatchObject({ logProbs: null, responseIds: [] })
  })

  test('an id that does not fit into 32 bits and a NaN are refused', () => {
    using env = withTurn()
    const add = (change: Partial<Turn>) => () => env.store.addTurn(newTurn(env.chat.id, change))
    expect(add({ promptIds: [2 ** 31] })).toThrow('2147483648 does not fit into 32 bits')
    expect(add({ logProbs: [Number.NaN] })).toThrow('logProbs.0')
    expect(add({ timeToFirstTokenMs: Number.POSITIVE_INFINITY })).toThrow('timeToFirstTokenMs')
    expect(env.store.turns(env.chat.id)).toEqual([env.turn])
  })

  test('recent turns are the newest main ones, oldest first', () => {
    using env = withTurn()
    const side = env.store.addTurn(newTurn(env.chat.id, { kind: 'side' }))
    const second = env.store.addTurn(newTurn(env.chat.id, { heldOut: true }))
    const third = env.store.addTurn(newTurn('other'))
    expect(env.store.recentTurns(2)).toEqual([second, third])
    expect(env.store.turns(env.chat.id)).toEqual([env.turn, side, second])
  })

  test('rules are compared with the last thumb of a turn, once for each turn', () => {
    using env = withTurn()
    const rule = (name: string, value: 1 | 0 | -1 | null) =>
      ({ source: 'rule', name, value, weight: 1, raw: '', durationMs: 0 }) as const
    const thumb = (turnId: string, value: number) =>
      env.store.addSignal({ turnId, kind: 'thumb', value, text: '', messageId: null })
    const [second, third] = [1, 2].map(() => env.store.addTurn(newTurn(env.chat.id)).id)
    if (second === undefined || third === undefined) throw new Error('no turns')
    env.store.addVotes(env.turn.id, [rule('thanks', 1), rule('thanks', 1), rule('repeats', -1)])
    env.store.addVotes(second, [rule('thanks', 1), rule('mute', null)])
    env.store.addVotes(third, [rule('thanks', 1)])
    expect(env.store.ruleRecords()).toEqual([])
    thumb(env.turn.id, -1)
    thumb(env.turn.id, 1)
    thumb(second, -1)
    thumb(third, 1)
    thumb(third, 0)
    expect(env.store.ruleRecords()).toEqual([
      { rule: 'repeats', agreed: 0, contradicted: 1 },
      { rule: 'thanks', agreed: 1, contradicted: 1 },
    ])
  })

  test('a reward replaces the former one and the change is an event', () => {
    using env = withTurn()
    const reward = { kind: 'decided', value: -1, by: 'votes' } as const
    env.store.setReward(env.turn.id, reward)
    env.store.setReward(env.turn.id, reward)
    expect(env.store.turn(env.turn.id)?.reward).toEqual(reward)
    expect(listEvents(env.connection)).toMatchObject([
      {
        kind: 'reward-changed',
        subject: env.turn.id,
        detail: { from: { kind: 'waiting' }, to: reward },
      },
    ])
    expect(() => env.store.setReward('none', reward)).toThrow('there is no turn none')
  })
})

describe('votes, signals and judging', () => {
  test('votes are kept with invalid ones as null', () => {
    using env = withTurn()
    const vote = {
      source: 'judge',
      name: 'score',
      weight: 1,
      raw: '\\boxed{}',
      durationMs: 8.5,
    } as const
    const added = env.store.addVotes(env.turn.id, [
      { ...vote, value: null },
      { ...vote, value: 1 },
    ])
    expect(added.map(({ value }) => value)).toEqual([null, 1])
    expect(env.store.votes(env.turn.id)).toEqual(added)
    expect(() => env.store.addVotes('none', [{ ...vote, value: 0 }])).toThrow('no turn none')
  })

  test('signals are appended in order', () => {
    using env = withTurn()
    const signal = { turnId: env.turn.id, text: '', messageId: null } as const
    const added = [
      env.store.addSignal({ ...signal, kind: 'thumb', value: 1 }),
      env.store.addSignal({ ...signal, kind: 'thumb', value: 0 }),
      env.store.addSignal({ ...signal, kind: 'next-message', value: null, text: 'shorter' }),
    ]
    expect(env.store.signals(env.turn.id)).toEqual(added)
    expect(listEvents(env.connection).map(({ kind }) => kind)).toEqual(
      Array(3).fill('signal-added'),
    )
    expect(JSON.stringify(listEvents(env.connection))).not.toContain('shorter')
  })

  test('owed judging is listed until it is done or has failed', () => {
    using env = withTurn()
    const second = env.store.addTurn(newTurn(env.chat.id))
    expect(env.store.judgeTask(env.turn.id)).toBeNull()
    env.store.setJudgeTask(env.turn.id, 'owed')
    env.store.setJudgeTask(second.id, 'owed')
    env.store.setJudgeTask(env.turn.id, 'failed', 'timeout')
    expect(env.store.owedJudgeTasks().map(({ turnId }) => turnId)).toEqual([second.id])
    expect(env.store.judgeTask(env.turn.id)).toMatchObject({ state: 'failed', error: 'timeout' })
    env.store.setJudgeTask(env.turn.id, 'done')
    expect(env.store.judgeTask(env.turn.id)).toMatchObject({ state: 'done', error: null })
    expect(() => env.store.setJudgeTask('none', 'owed')).toThrow('there is no turn none')
  })
})
