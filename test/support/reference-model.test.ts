import { expect, it } from 'vitest'
import type { Adapter } from '../../app/main/engine/types.ts'
import { createReferenceModel } from './reference-model.ts'

const model = createReferenceModel({ vocabulary: 12 })
const tokens = Int32Array.from([1, 5, 2, 8, 3, 3, 7])
const request = { tokens, responseStart: 3, temperature: 0.7 }

function movedAdapter(): Adapter {
  const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 3 })
  adapter.tensors[0]?.b.forEach((_, index, b) => {
    b[index] = Math.sin(index) / 3
  })
  return adapter
}

/** Compares every gradient with a central difference of `lossOf`. */
async function check(options: {
  readonly lossOf: (adapter: Adapter) => Promise<number>
  readonly gradientsOf: (adapter: Adapter) => Promise<readonly Float32Array[]>
}) {
  const adapter = movedAdapter()
  const arrays = adapter.tensors.flatMap(({ a, b }) => [a, b])
  const gradients = await options.gradientsOf(adapter)
  for (const [index, array] of arrays.entries()) {
    for (let i = 0; i < array.length; i++) {
      const value = array[i] ?? NaN
      array[i] = value + 1e-2
      const above = await options.lossOf(adapter)
      array[i] = value - 1e-2
      const below = await options.lossOf(adapter)
      array[i] = value
      expect(gradients[index]?.[i]).toBeCloseTo((above - below) / 2e-2, 3)
    }
  }
}

it('has exact gradients for gathered log-probabilities', async () => {
  const gatherIds = Int32Array.from([8, 1, 3, 2, 3, 9, 7, 7])
  const loss = (values: Float32Array) => ({
    loss: values.reduce((sum, value, i) => sum + (value * (i - 3)) / 20, 0),
    gradient: values.map((_, i) => (i - 3) / 20),
  })
  await check({
    lossOf: async (adapter) =>
      loss((await model.score({ ...request, adapter, gatherIds })).gathered).loss,
    gradientsOf: async (adapter) => {
      const gradients = model.createGradients(adapter)
      await model.backward({ ...request, adapter, gatherIds, loss, gradients })
      return gradients.tensors.flatMap(({ a, b }) => [a, b])
    },
  })
})

it('has exact gradients for the divergence from the base', async () => {
  const baseHidden = await model.hidden({ ...request, adapter: null })
  await check({
    lossOf: async (adapter) => {
      const kl = await model.kl({ ...request, adapter, baseHidden })
      return (2 * kl.reduce((sum, value) => sum + value, 0)) / kl.length
    },
    gradientsOf: async (adapter) => {
      const gradients = model.createGradients(adapter)
      await model.klBackward({ ...request, adapter, baseHidden, weight: 2, gradients })
      return gradients.tensors.flatMap(({ a, b }) => [a, b])
    },
  })
})
