import { expect, test } from 'vitest'
import type { ModelInfo } from '../app/main/engine/index.ts'
import { layerProducts, stepOperations } from './flops.ts'

const info: ModelInfo = {
  architecture: 'llama',
  layers: 2,
  width: 8,
  feedForward: 12,
  heads: 4,
  keyValueHeads: 2,
  headSize: 2,
  vocabulary: 20,
  contextLength: 64,
  ropeBase: 10_000,
  normEpsilon: 1e-5,
  tiedHead: true,
}

test('the operations of a step are those counted by hand', () => {
  const { projections, adapter, attention, head, total } = stepOperations(info, {
    ...{ tokens: 3, response: 2, rank: 1 },
  })
  // Weights of a layer: q 8 × 8, k and v 8 × 4 each, output 8 × 8, gate, up and down 8 × 12 each.
  const [qkv, rest] = [64 + 32 + 32, 64 + 3 * 96]
  expect(projections).toBe(2 * 3 * (2 * 2 * (qkv + rest) - qkv))
  // Inputs and outputs of a layer's pairs: 24 and 16 for q, k, v; 8 + 8 + 8 + 12 and 8 + 12 + 12 + 8 for the others.
  expect(adapter).toBe(2 * 3 * (2 * 3 * (24 + 16 + 36 + 40) - 24))
  // Six products over the six pairs of positions, of all 8 channels.
  expect(attention).toBe(2 * 6 * 2 * 8 * 6)
  expect(head).toBe(2 * 2 * 2 * 8 * 20)
  expect(total).toBe(projections + adapter + attention + head)
})

test('a layer has each product forward and, turned round, backward', () => {
  const shapes = layerProducts(info).map(({ rows, columns }) => `${rows}x${columns}`)
  expect(shapes.slice(0, 4)).toEqual(['16x8', '8x8', '24x8', '8x12'])
  expect(shapes.slice(4)).toEqual(['8x16', '8x8', '8x24', '12x8'])
})
