import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NewVote, RewardValue } from '../../shared/domain/turn.ts'
import { explicitVote, tally } from './votes.ts'

function vote(value: RewardValue | null, weight = 1): NewVote {
  return { source: 'judge', name: 'v', value, weight, raw: '', durationMs: 0 }
}
const decided = (value: RewardValue) => ({ kind: 'decided', value, by: 'votes' }) as const
const undecided = { kind: 'undecided' } as const

test.each([
  ['nothing', [], undecided],
  ['only invalid votes', [vote(null), vote(null)], undecided],
  ['one vote', [vote(1)], decided(1)],
  ['two against one', [vote(-1), vote(-1), vote(1)], decided(-1)],
  ['one of each', [vote(-1), vote(0), vote(1)], decided(0)],
  ['a tie of +1 and −1', [vote(1), vote(-1)], decided(0)],
  ['a tie of −1 and 0', [vote(-1), vote(0)], decided(0)],
  ['a tie beside invalid votes', [vote(1), vote(null), vote(-1)], decided(0)],
  ['a valid one among invalid ones', [vote(null), vote(-1), vote(null)], decided(-1)],
  ['a regenerate alone', [vote(-1, 0.5)], decided(-1)],
  ['a lead of less than one half', [vote(1), vote(-1, 0.6)], decided(0)],
  ['a lead of exactly one half', [vote(1), vote(-1, 0.5)], decided(1)],
  ['a lead of one half with rounding', [vote(1, 0.8), vote(-1, 0.1), vote(-1, 0.2)], decided(1)],
  ['rules of weight 0', [vote(1, 0)], undecided],
  ['a broken weight', [vote(1, Number.NaN), vote(-1)], decided(-1)],
])('%s', (_, votes, expected) => {
  expect(tally(votes)).toEqual(expected)
})

const anyVote = fc.record({
  value: fc.constantFrom<RewardValue | null>(1, 0, -1, null),
  weight: fc.double({ min: 0, max: 3, noNaN: true }),
})

test('order and invalid votes never matter, and mirrored votes give the mirrored reward', () => {
  fc.assert(
    fc.property(fc.array(anyVote, { maxLength: 9 }), (parts) => {
      const votes = parts.map(({ value, weight }) => vote(value, weight))
      const reward = tally(votes)
      expect(tally([...votes].reverse())).toEqual(reward)
      expect(tally([...votes, vote(null, 9)])).toEqual(reward)
      const mirrored = votes.map((each) =>
        vote(
          each.value === null || each.value === 0 ? each.value : each.value === 1 ? -1 : 1,
          each.weight,
        ),
      )
      const other = tally(mirrored)
      expect(other.kind).toBe(reward.kind)
      if (reward.kind === 'decided' && other.kind === 'decided') {
        expect(other.value + reward.value).toBe(0)
      }
    }),
  )
})

test('the last thumb decides before any edit', () => {
  const state = {
    request: 'x',
    reply: 'y',
    messages: [],
    signals: [
      { kind: 'edit' as const, text: 'z' },
      { kind: 'thumb' as const, value: -1 as const, text: '' },
      { kind: 'thumb' as const, value: 1 as const, text: 'fine' },
    ],
  }
  expect(explicitVote(state)?.decision).toEqual({ kind: 'decided', value: 1, by: 'thumb' })
  const edited = { ...state, signals: state.signals.slice(0, 1) }
  expect(explicitVote(edited)?.decision).toEqual({ kind: 'decided', value: -1, by: 'edit' })
  expect(explicitVote({ ...edited, reply: 'z' })).toBeNull()
})
