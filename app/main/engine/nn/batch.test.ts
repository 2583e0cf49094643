import fc from 'fast-check'
import { expect, it } from 'vitest'
import { layOut, packsOf, placesOf, sharedPrefix } from './batch.ts'

const sequence = (ids: readonly number[], responseStart: number) => ({
  tokens: Int32Array.from(ids),
  responseStart,
})

const range = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, i) => from + i)

it('finds what all prompts begin with, before the token that predicts a response', () => {
  const [one, two] = [sequence(range(40), 30), sequence([...range(25), 99, ...range(14)], 30)]
  expect(sharedPrefix([one, two])).toBe(25)
  expect(sharedPrefix([one, sequence(range(40), 20)])).toBe(19)
  expect(sharedPrefix([one])).toBe(0)
})

it('does not bother with a short common beginning', () => {
  expect(sharedPrefix([sequence(range(20), 10), sequence(range(20), 12)])).toBe(0)
})

it('each token of a batch sees exactly what it saw alone', () => {
  const arbitrary = fc.record({
    prompt: fc.integer({ min: 18, max: 30 }),
    lengths: fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 5,
    }),
    shares: fc.boolean(),
    window: fc.option(fc.integer({ min: 1, max: 12 })),
  })
  fc.assert(
    fc.property(arbitrary, ({ prompt, lengths, shares, window }) => {
      const sequences = lengths.map(([more, response], i) =>
        sequence([...range(prompt), ...range(more + response, 100 * (i + 1))], prompt + more),
      )
      const usesWindow = !shares && window !== null
      const prefix = shares ? sharedPrefix(sequences) : 0
      const batch = layOut(sequences, prefix)
      const places = placesOf(batch, usesWindow ? window : null)
      const seen = (t: number): number[] =>
        range(t + 1)
          .filter((key) => key < (places[2 * t + 1] ?? 0) || key >= (places[2 * t] ?? 0))
          .map((key) => batch.tokens[key] ?? -1)
      batch.rows.forEach(({ first, count }, i) => {
        const { tokens, responseStart } = sequences[i] ?? sequence([], 0)
        expect(count).toBe(tokens.length - responseStart)
        for (let row = 0; row < count; row += 1) {
          const end = responseStart + row
          expect(batch.positions[first + row]).toBe(end - 1)
          const alone = [...tokens.subarray(usesWindow ? Math.max(0, end - window) : 0, end)]
          expect(seen(first + row)).toEqual(alone)
        }
      })
    }),
  )
})

it('padding sees itself alone, and nobody sees padding', () => {
  const batch = layOut([sequence(range(20), 10)])
  expect(batch.tokens).toHaveLength(32)
  const places = placesOf(batch, null)
  expect([places[2 * 25], places[2 * 25 + 1]]).toEqual([25, 0])
})

it('packs neighbours that fit and may join, counting a shared prefix once', () => {
  const sequences = [
    sequence(range(41), 30),
    sequence([...range(30), ...range(11, 70)], 31),
    sequence(range(200), 100),
    sequence(range(21, 500), 10),
  ]
  const all = { limit: 60, mayJoin: () => true }
  // 29 shared tokens, 11 and 11 of their own.
  expect(packsOf(sequences, { ...all, sharesPrefix: true })).toEqual([
    { members: [0, 1], prefix: 29 },
    { members: [2], prefix: 0 },
    { members: [3], prefix: 0 },
  ])
  expect(packsOf(sequences, { ...all, sharesPrefix: false })).toHaveLength(4)
  const apart = { limit: 1000, sharesPrefix: true, mayJoin: () => false }
  expect(packsOf(sequences, apart)).toHaveLength(4)
})
