import { expect, test } from 'vitest'
import { AppError } from '../app/shared/errors.ts'
import type { StepReport } from './report-line.ts'
import { summarise, takeTurns } from './rounds.ts'

const report = (seconds: number[], peakBytes: number): StepReport => ({
  ...{ seconds, peakBytes, loadedBytes: 1, loss: 3, gradientNorm: 2 },
})

test('the cases take turns, and all rounds count', async () => {
  const order: string[] = []
  const one = (name: string, values: StepReport[]) => ({
    name,
    optional: false,
    measure: async () => {
      order.push(name)
      return values.shift() ?? report([9], 9)
    },
  })
  const cases = [
    one('a', [report([4, 2], 10), report([5, 8], 30)]),
    one('b', [report([1], 5), report([1], 5)]),
  ]
  const outcomes = await takeTurns(cases, 2, () => undefined)
  expect(order).toEqual(['a', 'b', 'a', 'b'])
  expect(summarise(outcomes['a'] ?? fail(), 100)).toMatchObject({
    ...{ tokensPerSecond: 50, medianTokensPerSecond: 100 / 4.5, peakBytes: 30 },
  })
})

test('an optional case that fails is not tried again and says why; another one ends the bench', async () => {
  let tries = 0
  const failing = (optional: boolean) => ({
    name: 'peer',
    optional,
    measure: async (): Promise<StepReport> => {
      tries += 1
      throw new AppError('unavailable', 'killed')
    },
  })
  const outcomes = await takeTurns([failing(true)], 3, () => undefined)
  expect(outcomes['peer']).toEqual({ kind: 'skipped', reason: 'killed' })
  expect(summarise(outcomes['peer'] ?? fail(), 1)).toBeNull()
  expect(tries).toBe(1)
  await expect(takeTurns([failing(false)], 3, () => undefined)).rejects.toThrow('killed')
})

function fail(): never {
  throw new Error('a case has no outcome')
}
