import { describe, expect, it } from 'vitest'
import { createReferenceModel } from '../../../test/support/reference-model.ts'
import type { Exchange } from '../../shared/domain/training.ts'
import type { Adapter } from '../engine/index.ts'
import { adamw, seededRandom } from '../engine/index.ts'
import { anchorStep } from './anchors.ts'
import { createBaseCache } from './base-cache.ts'

const model = createReferenceModel({ vocabulary: 24 })
const endId = 21
const anchors: Exchange[] = [
  { promptIds: [5, 6], responseIds: [7, 8, endId] },
  { promptIds: [9, 1], responseIds: [2, 2, 11, endId] },
  { promptIds: [3], responseIds: [4, 14, 15, 16] },
]
const yieldPoint = () => Promise.resolve({ threads: 1 })
const cache = createBaseCache()
const base = {
  hidden: (exchange: Exchange) => cache.hidden(model, exchange, yieldPoint),
  logProbs: (exchange: Exchange, id: number) => cache.logProbs(model, exchange, { id, yieldPoint }),
}

/** An adapter that has moved away from the base. */
function moved(): Adapter {
  const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
  const random = seededRandom(7)
  for (const { b } of adapter.tensors) b.forEach((_, i) => (b[i] = random.normal() * 0.5))
  return adapter
}

async function step(adapter: Adapter, weights: { weight: number; endingWeight: number }) {
  const gradients = model.createGradients(adapter)
  const options = { model, adapter, gradients, base, endId, yieldPoint, count: 3, ...weights }
  return { gradients, ...(await anchorStep(anchors, options)) }
}

describe('anchorStep', () => {
  it('leads endings back to the base’s, and says how far they are', async () => {
    const adapter = moved()
    const optimiser = adamw(adapter)
    const endings: number[] = []
    for (let i = 0; i < 40; i++) {
      const { gradients, ending, weighted } = await step(adapter, { weight: 0, endingWeight: 2 })
      endings.push(ending ?? NaN)
      expect(weighted).toBeCloseTo(2 * (ending ?? NaN), 6)
      optimiser.step(gradients, { learningRate: 0.02, maxNorm: 1 })
    }
    expect(endings[0]).toBeGreaterThan(0.01)
    expect(endings.at(-1)).toBeLessThan((endings[0] ?? NaN) / 5)
  })

  it('adds the slope of what it returns', async () => {
    const adapter = moved()
    const weights = { weight: 0.7, endingWeight: 0.4 }
    const { gradients } = await step(adapter, weights)
    const numbers = adapter.tensors[0]?.b ?? new Float32Array()
    const slopes = gradients.tensors[0]?.b ?? new Float32Array()
    const index = slopes.reduce(
      (best, value, i) => (Math.abs(value) > Math.abs(slopes[best] ?? 0) ? i : best),
      0,
    )
    const before = numbers[index] ?? NaN
    const at = async (value: number) => {
      numbers[index] = value
      return (await step(adapter, weights)).weighted
    }
    const slope = ((await at(before + 1e-2)) - (await at(before - 1e-2))) / 2e-2
    expect(Math.abs((slopes[index] ?? NaN) - slope)).toBeLessThan(0.02 * Math.abs(slope))
  })

  it('leaves endings alone where it is switched off or the model names no end', async () => {
    expect(await step(moved(), { weight: 1, endingWeight: 0 })).toMatchObject({ ending: null })
    const none = await anchorStep([], {
      ...{ model, adapter: moved(), gradients: model.createGradients(moved()), base, yieldPoint },
      ...{ count: 0, weight: 1, endingWeight: 1, endId: null },
    })
    expect(none).toEqual({ kl: null, ending: null, weighted: 0 })
  })
})
