import { expect, test } from 'vitest'
import { buildNextState } from './next-state.ts'
import { ruleVotes } from './rules.ts'
import fc from 'fast-check'

const turn = { request: 'Explain osmosis.', reply: 'Water moves.', signals: [] }

test('takes all messages up to the next reply, tool results included', () => {
  const state = buildNextState({
    ...turn,
    messages: [
      { role: 'tool', text: 'exit 1' },
      { role: 'user', text: 'no' },
      { role: 'user', text: 'again' },
      { role: 'assistant', text: 'Sure.' },
      { role: 'user', text: 'thanks' },
    ],
  })
  expect(state.messages).toEqual([
    { role: 'tool', text: 'exit 1' },
    { role: 'user', text: 'no' },
    { role: 'user', text: 'again' },
  ])
})

test('empty messages are no evidence', () => {
  const state = buildNextState({ ...turn, messages: [{ role: 'user', text: ' \n' }] })
  expect(state.messages).toEqual([])
})

test('repeated regenerates of one prompt count once', () => {
  const state = buildNextState({
    ...turn,
    messages: [],
    signals: [{ kind: 'regenerate' }, { kind: 'exit-code', code: 0 }, { kind: 'regenerate' }],
  })
  expect(state.signals).toEqual([{ kind: 'regenerate' }, { kind: 'exit-code', code: 0 }])
})

test('any messages give votes of +1, 0 or −1 and never throw', () => {
  const message = fc.record({
    role: fc.constantFrom(
      'user' as const,
      'tool' as const,
      'system' as const,
      'assistant' as const,
    ),
    text: fc.string({ unit: 'binary', maxLength: 200 }),
  })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.string(), (messages, request) => {
      const votes = ruleVotes(buildNextState({ ...turn, request, messages }))
      return votes.every(({ value }) => value === 1 || value === 0 || value === -1)
    }),
  )
})

test.each(['你回答', 'too ', 'thanks, ', 'no, ', '错', '嗯', 'that is ', 'hmm ok ', '太'])(
  'a megabyte of %j is ruled',
  (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    const state = buildNextState({ ...turn, request: text, messages: [{ role: 'user', text }] })
    expect(ruleVotes(state).length).toBeGreaterThan(0)
  },
)
