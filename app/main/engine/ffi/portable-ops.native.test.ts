// The paths of backends that lack operators, on a CPU that is told to lack them.
import { afterEach, describe, expect, it } from 'vitest'
import { randomTensor, relativeDifference } from '../../../../test/support/numerics.ts'
import {
  Allocator,
  Arena,
  Graph,
  ops,
  Runtime,
  type Pacer,
  type Shape,
  type Tensor,
} from './index.ts'

const pacer: Pacer = { budget: 1e9, before: () => Promise.resolve() }
const opened: Runtime[] = []

afterEach(() => {
  for (const runtime of opened.splice(0)) {
    runtime[Symbol.dispose]()
    expect(runtime.counter.alive).toBe(0)
  }
})

function open(missing: readonly string[] | null): Runtime {
  const pretend = missing === null ? {} : ({ device: 'metal', missing, alignment: 256 } as const)
  const runtime = new Runtime({ threads: 1, pretend })
  opened.push(runtime)
  return runtime
}

interface Case {
  readonly operator: string
  readonly shapes: Readonly<Record<string, readonly number[]>>
  build(g: Graph, inputs: Record<string, Tensor>): Tensor
}

const T = 24
const ropeOptions = {
  dimensions: 16,
  contextLength: 128,
  base: 10_000,
  style: 'pairs',
  scale: 1,
  factors: null,
} as const

function at(inputs: Record<string, Tensor>, name: string): Tensor {
  const tensor = inputs[name]
  if (tensor === undefined) throw new Error(`there is no input ${name}`)
  return tensor
}

/** The left half of the channels: a view with strides. */
function left(g: Graph, x: Tensor): Tensor {
  return ops.viewColumns(g, x, [0, x.shape[0] / 2])
}

/** Adds to a copy, so that the inputs stay. */
function addedInPlace(g: Graph, a: Tensor, b: Tensor): Tensor {
  return ops.addInPlace(g, left(g, ops.contiguous(g, a)), b)
}

const cases: readonly Case[] = [
  {
    operator: 'OUT_PROD',
    shapes: { a: [12, T, 2], b: [20, T, 2] },
    build: (g, x) => ops.outProd(g, at(x, 'a'), at(x, 'b')),
  },
  {
    operator: 'OUT_PROD',
    shapes: { a: [12, T], b: [T, 20] },
    build: (g, x) => ops.outProd(g, at(x, 'a'), ops.permute(g, at(x, 'b'), [1, 0, 2, 3])),
  },
  {
    operator: 'OUT_PROD',
    shapes: { a: [12, T], b: [20, T] },
    build: (g, x) => ops.outProd(g, left(g, at(x, 'a')), left(g, at(x, 'b'))),
  },
  {
    operator: 'RMS_NORM_BACK',
    shapes: { dy: [16, T], x: [16, T] },
    build: (g, x) => ops.rmsNormBack(g, { dy: at(x, 'dy'), x: at(x, 'x') }, 1e-2),
  },
  {
    operator: 'SOFT_MAX_BACK',
    shapes: { dy: [16, T, 3], y: [16, T, 3] },
    // Both are inputs: ggml's own on the CPU is wrong where its result may take the memory of y.
    build: (g, x) => ops.softMaxBack(g, { dy: at(x, 'dy'), y: at(x, 'y') }, 0.25),
  },
  {
    operator: 'DIAG_MASK_INF',
    shapes: { a: [T, T - 5, 3] },
    build: (g, x) => ops.softMax(g, ops.maskFuture(g, ops.contiguous(g, at(x, 'a')), 5), 0.5),
  },
  {
    operator: 'SILU_BACK',
    shapes: { dy: [16, T], x: [32, T] },
    build: (g, x) => ops.siluBack(g, at(x, 'dy'), left(g, at(x, 'x'))),
  },
  {
    operator: 'ROPE_BACK',
    shapes: { x: [16, T, 3] },
    build(g, x) {
      const byToken = ops.permute(g, at(x, 'x'), [0, 2, 1, 3])
      return ops.ropeBack(g, { x: byToken, positions: at(x, 'positions') }, ropeOptions)
    },
  },
]

/** Operators that nothing replaces: the CPU computes them. */
const hostCases: readonly Case[] = [
  {
    operator: 'MUL_MAT',
    shapes: { a: [32, 12, 2], b: [16, T, 2] },
    build: (g, x) => ops.mulMat(g, left(g, at(x, 'a')), at(x, 'b')),
  },
  {
    operator: 'SWIGLU',
    shapes: { a: [32, T] },
    build: (g, x) => ops.swigluSplit(g, left(g, at(x, 'a')), left(g, at(x, 'a'))),
  },
  {
    operator: 'ADD',
    shapes: { a: [32, T], b: [16, T] },
    build: (g, x) => addedInPlace(g, at(x, 'a'), at(x, 'b')),
  },
  {
    operator: 'GET_ROWS',
    shapes: { a: [16, 30] },
    build: (g, x) => ops.getRows(g, at(x, 'a'), at(x, 'positions')),
  },
]

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1)

async function run(runtime: Runtime, { shapes, build, operator }: Case): Promise<Float32Array> {
  using arena = new Arena(runtime)
  using allocator = new Allocator(runtime)
  const positions = arena.plan([T], 'i32')
  const slots = Object.entries(shapes).map(([name, shape]) => [name, arena.plan(shape)] as const)
  arena.commit()
  using g = new Graph(runtime)
  const inputs: Record<string, Tensor> = { positions: g.leaf(positions) }
  const order = Int32Array.from({ length: T }, (_, t) => (7 * t) % T)
  runtime.write(at(inputs, 'positions'), order)
  for (const [name, slot] of slots) {
    const leaf = g.leaf(slot)
    const seed = `${operator}/${name}`
    runtime.write(leaf, randomTensor(seed, sizeOf(slot.shape), { scale: 1 }))
    inputs[name] = leaf
  }
  const result = g.keep(ops.contiguous(g, build(g, inputs)))
  await g.run(allocator, pacer)
  return runtime.read(result, new Float32Array(sizeOf(result.shape)))
}

describe('operators that a backend lacks', () => {
  it.each(cases)('$operator is written with others that give the same', async (test) => {
    const expected = await run(open(null), test)
    const runtime = open([test.operator])
    const found = await run(runtime, test)
    expect(relativeDifference(found, expected)).toBeLessThan(1e-6)
    // The helper of the CPU would be alive.
    expect(runtime.counter.alive).toBe(1)
  })

  it.each(hostCases)('$operator is computed on the CPU, to the bit', async (test) => {
    const expected = await run(open(null), test)
    const runtime = open([test.operator])
    for (let round = 0; round < 3; round += 1) {
      const found = await run(runtime, test)
      expect(Buffer.from(found.buffer).equals(Buffer.from(expected.buffer))).toBe(true)
    }
    expect(runtime.counter.alive).toBeGreaterThan(1)
  })

  it('a result with a place of its own gets there, from the CPU and past what is not aligned', async () => {
    for (const missing of [['SCALE'], []]) {
      const runtime = open(missing)
      using arena = new Arena(runtime)
      using allocator = new Allocator(runtime)
      const [from, to] = [arena.plan([4, 2]), arena.plan([4, 8])]
      arena.commit()
      using g = new Graph(runtime)
      runtime.write(
        g.leaf(from),
        Float32Array.from({ length: 8 }, (_, i) => i),
      )
      runtime.write(g.leaf(to), new Float32Array(32))
      const shape: Shape = [4, 2, 1, 1]
      // 48 bytes behind the start.
      const part = { buffer: to.buffer, offset: to.offset + 48, shape, type: 'f32' } as const
      g.into(part, ops.scale(g, g.leaf(from), 2))
      await g.run(allocator, pacer)
      const found = runtime.read(g.leaf(to), new Float32Array(32))
      const expected = Float32Array.from({ length: 32 }, (_, i) =>
        i >= 12 && i < 20 ? 2 * (i - 12) : 0,
      )
      expect([...found]).toEqual([...expected])
    }
  })
})

describe('memory of a backend with small buffers', () => {
  it('lies in several, and every place keeps its numbers', () => {
    const runtime = new Runtime({ threads: 1, pretend: { maxBufferBytes: 1024 } })
    opened.push(runtime)
    using arena = new Arena(runtime)
    const plan = () => Array.from({ length: 5 }, () => arena.plan([100]))
    const slots = plan()
    arena.commit()
    expect(new Set(slots.map(({ buffer }) => buffer)).size).toBe(3)
    using g = new Graph(runtime)
    slots.forEach((slot, i) => runtime.write(g.leaf(slot), new Float32Array(100).fill(i)))
    slots.forEach((slot, i) => {
      expect(runtime.read(g.leaf(slot), new Float32Array(1))[0]).toBe(i)
    })
    const before = runtime.counter.alive
    arena.reset()
    plan()
    arena.commit()
    expect(runtime.counter.alive).toBe(before)
  })
})
