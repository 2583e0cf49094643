// Calls that would make a kernel read or write past a tensor are refused before a node is made.
import { afterAll, describe, expect, it } from 'vitest'
import { Arena, Graph, ops, Runtime, type Slot } from '../ffi/index.ts'
import { openKernels } from './open.ts'

const runtime = new Runtime({ threads: 1 })
const opened = await openKernels(runtime)

afterAll(() => {
  runtime[Symbol.dispose]()
  expect(runtime.counter.alive).toBe(0)
})

if (opened.kind === 'none') it.skip(opened.reason, () => undefined)

describe.runIf(opened.kind === 'native')('refused', () => {
  if (opened.kind === 'none') return
  const { kernels } = opened
  /** Slots of these shapes in a graph, beside a scratch for sequences and models of these sizes. */
  function within<Name extends string>(
    shapes: Readonly<Record<Name, readonly number[]>>,
    act: (g: Graph, at: Record<Name | 'scratch', Slot>, arena: Arena) => void,
    size = { tokens: 8, headSize: 16, width: 16 },
  ): void {
    using arena = new Arena(runtime)
    const slots = Object.entries<readonly number[]>(shapes).map(
      ([name, shape]) =>
        [name, arena.plan(shape, integers.includes(name) ? 'i32' : 'f32')] as const,
    )
    const scratch = kernels.planScratch(arena, size)
    arena.commit()
    using g = new Graph(runtime)
    act(g, { ...Object.fromEntries(slots), scratch } as Record<Name | 'scratch', Slot>, arena)
  }
  const integers = ['places', 'ids']

  function attend(T: number, places: readonly number[], part: readonly [number, number]): void {
    const shapes = { qkv: [16, 4, T], places: [2, T], sums: [2, T] }
    within(shapes, (g, at) => {
      const leaf = g.leaf(at.places)
      runtime.write(leaf, Int32Array.from(places))
      const call = { kernels, scratch: at.scratch }
      const params = { heads: 2, keyValueHeads: 1, scale: 1, part, places: leaf }
      ops.kernelAttention(g, call, { ...params, qkv: g.leaf(at.qkv), sums: g.leaf(at.sums) })
    })
  }
  const causal = (T: number): number[] => new Array<number>(2 * T).fill(0)

  it('a scratch for fewer tokens, though not for as many', () => {
    const [needed, held] = [
      kernels.scratchBytes({ tokens: 9000, headSize: 16, width: 1 }),
      kernels.scratchBytes({ tokens: 8, headSize: 16, width: 16 }),
    ]
    expect(() => attend(9000, causal(9000), [0, 1])).toThrow(
      `9000 tokens, heads of 16 and 1 channels needs ${needed} bytes of scratch for a thread, found ${held}`,
    )
    expect(() => attend(8, causal(8), [0, 1])).not.toThrow()
  })

  it('a scratch for narrower hidden states', () => {
    within({ hidden: [9000, 2], w: [1] }, (g, { hidden, w, scratch }) => {
      const panels = { slot: w, rows: 5, columns: 9000 }
      const call = { panels, hidden: g.leaf(hidden), temperature: 1, topK: 1, gather: null }
      expect(() => ops.headStats(g, { kernels, scratch }, call)).toThrow('and 9000 channels needs')
    })
  })

  it('a scratch that is smaller than a product needs', () => {
    within({ x: [4, 2], w: [256], tiny: [16] }, (g, { x, w, tiny }) => {
      const main = { panels: { slot: w, rows: 8, columns: 4 }, x: g.leaf(x) }
      const call = { kernels, scratch: tiny }
      expect(() => ops.packedProduct(g, call, { main })).toThrow('found 64')
      expect(() => ops.packedOuter(g, call, [g.leaf(x), g.leaf(x)])).toThrow('found 64')
    })
  })

  it.each([
    ['a prefix past itself', 3, [0, 5], 'token 3 sees the keys before 5 and those from 0 on'],
    ['a prefix past the sequence', 7, [0, 9], 'token 7 sees the keys before 9'],
    ['no key at all', 2, [3, 0], 'token 2 sees the keys before 0 and those from 3 on'],
    ['keys before the first', 1, [-1, 0], 'token 1 sees the keys before 0 and those from -1 on'],
  ])('a token that sees %s', (_, ...[token, pair, message]) => {
    const places = causal(8)
    places.splice(2 * token, 2, ...pair)
    expect(() => attend(8, places, [0, 1])).toThrow(message)
  })

  it('a prefix that ends with the token itself is none of these', () => {
    const places = causal(8).map((_, i) => (i % 2 === 0 ? (i + 2) / 2 - 1 : (i + 1) / 2))
    expect(() => attend(8, places, [0, 1])).not.toThrow()
  })

  it.each([
    [[0, 2], '2 heads from 0 on are not among 1'],
    [[1, 1], '1 heads from 1 on are not among 1'],
    [[0, 0], '0 heads from 0 on are not among 1'],
  ] as const)('heads %j of one', (part, message) => {
    expect(() => attend(8, causal(8), part)).toThrow(message)
  })

  it('a turned head of another size', () => {
    const shapes = { hidden: [4, 2], factors: [2, 2], ids: [1, 2], grads: [1, 2], w: [256] }
    within(shapes, (g, { w, scratch, ...at }) => {
      const panels = { slot: w, rows: 6, columns: 4 }
      const turned = { slot: w, rows: 4, columns: 5 }
      const call = {
        ...{ panels, turned, temperature: 1, hidden: g.leaf(at.hidden), ids: g.leaf(at.ids) },
        ...{ factors: g.leaf(at.factors), gradients: g.leaf(at.grads) },
      }
      expect(() => ops.headBack(g, { kernels, scratch }, call)).toThrow(
        '[5, 4] is not the transposed of [4, 6]',
      )
    })
  })

  it('residuals and gradients of another size', () => {
    const shapes = { x: [8, 3], weight: [8], residual: [8, 2], dy: [4, 2] }
    within(shapes, (g, { scratch, ...at }) => {
      const call = { kernels, scratch }
      const [x, weight] = [g.leaf(at.x), g.leaf(at.weight)]
      const params = { x, weight, epsilon: 1, residual: g.leaf(at.residual) }
      expect(() => ops.kernelNorm(g, call, params)).toThrow('kernelNorm cannot take [8, 2, 1, 1]')
      const gated = { x, dy: g.leaf(at.dy), activation: 'silu' } as const
      expect(() => ops.gatedBack(g, call, gated)).toThrow('gatedBack cannot take [4, 2, 1, 1]')
    })
  })
})
