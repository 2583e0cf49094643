import { afterAll, expect, it } from 'vitest'
import { randomTensor, relativeDifference } from '../../../../../test/support/numerics.ts'
import { Allocator, Arena, Graph, ops, Runtime, type Pacer, type Tensor } from '../../ffi/index.ts'
import { linearBackward, linearForward, type LinearGroup } from './linear.ts'
import { opTable } from './table.ts'

// One thread: ggml's barriers spin, so two would be slow beside other work. Engine tests compare the counts.
const runtime = new Runtime({ threads: 1 })
const allocator = new Allocator(runtime)
const pacer: Pacer = { budget: 1e9, before: () => Promise.resolve() }

afterAll(() => {
  allocator[Symbol.dispose]()
  runtime[Symbol.dispose]()
  expect(runtime.counter.alive).toBe(0)
})

type Values = Readonly<Record<string, Float32Array>>
type Shapes = Readonly<Record<string, readonly number[]>>

/** What a table row is tested with: shapes of the inputs and how to call it. */
interface Case {
  readonly name: string
  readonly shapes: Shapes
  readonly output: readonly number[]
  forward(g: Graph, inputs: Record<string, Tensor>, output: Tensor): Tensor
  backward(
    g: Graph,
    call: {
      inputs: Record<string, Tensor>
      grad: Tensor
      output: Tensor
      places: Record<string, Tensor>
    },
  ): Record<string, Tensor>
}

const T = 32
const sequence = Int32Array.from({ length: T }, (_, t) => 3 * t)

function positionsOf(g: Graph, arena: Arena): Tensor {
  const leaf = g.leaf(arena.plan([T], 'i32'))
  runtime.write(leaf, sequence)
  return leaf
}

const epsilon = 1e-5
const ropeParams = { dimensions: 8, contextLength: 128, base: 10_000 }

const cases: readonly Case[] = [
  {
    name: 'rmsNorm',
    shapes: { x: [24, T], weight: [24] },
    output: [24, T],
    forward: (g, { x, weight }) => opTable.rmsNorm.forward(g, pair(x, weight), { epsilon }),
    backward: (g, { inputs: { x, weight }, grad }) =>
      opTable.rmsNorm.backward(g, { inputs: pair(x, weight), grad }, { epsilon }),
  },
  {
    name: 'swiglu',
    shapes: { gate: [24, T], up: [24, T] },
    output: [24, T],
    forward: (g, { gate, up }) => opTable.swiglu.forward(g, { gate: some(gate), up: some(up) }),
    backward: (g, { inputs: { gate, up }, grad }) =>
      opTable.swiglu.backward(g, { inputs: { gate: some(gate), up: some(up) }, grad }),
  },
  {
    name: 'rope',
    shapes: { x: [8, 3, T] },
    output: [8, 3, T],
    forward: (g, { x }) =>
      opTable.rope.forward(g, { x: some(x), positions: current(g) }, ropeParams),
    backward: (g, { inputs: { x }, grad }) =>
      opTable.rope.backward(g, { inputs: { x: some(x), positions: current(g) }, grad }, ropeParams),
  },
  {
    name: 'attention',
    shapes: { q: [16, 6, T], k: [16, T, 2], v: [16, T, 2] },
    output: [96, T],
    forward: (g, { q, k, v }, output) =>
      opTable.attention.forward(g, { q: some(q), k: some(k), v: some(v) }, { block: 16, output }),
    backward: (g, { inputs: { q, k, v }, grad, output, places }) =>
      opTable.attention.backward(
        g,
        { inputs: { q: some(q), k: some(k), v: some(v) }, grad },
        {
          block: 16,
          output,
          gradients: { q: some(places['q']), k: some(places['k']), v: some(places['v']) },
        },
      ),
  },
]

let positionsArena: Arena | null = null
function current(g: Graph): Tensor {
  if (positionsArena === null) throw new Error('no positions')
  return positionsOf(g, positionsArena)
}

function some(tensor: Tensor | undefined): Tensor {
  if (tensor === undefined) throw new Error('an input is missing')
  return tensor
}

function pair(x: Tensor | undefined, weight: Tensor | undefined): { x: Tensor; weight: Tensor } {
  return { x: some(x), weight: some(weight) }
}

function size(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1)
}

/** Runs one row forward, or backward with `grad`, on given numbers. */
async function run(test: Case, values: Values, grad?: Float32Array): Promise<Values> {
  using arena = new Arena(runtime)
  const slots = Object.entries(test.shapes).map(
    ([name, shape]) => [name, arena.plan(shape)] as const,
  )
  const places = Object.entries(test.shapes).map(
    ([name, shape]) => [name, arena.plan(shape)] as const,
  )
  const output = arena.plan(test.output)
  const gradSlot = arena.plan(test.output)
  using positions = new Arena(runtime)
  positions.plan([T], 'i32')
  positions.commit('a test')
  positions.reset()
  positionsArena = positions
  arena.commit('a test')
  using g = new Graph(runtime)
  const inputs: Record<string, Tensor> = {}
  for (const [name, slot] of slots) {
    inputs[name] = g.leaf(slot)
    runtime.write(some(inputs[name]), values[name] ?? new Float32Array(0))
  }
  const results: Record<string, Tensor> = {}
  if (grad === undefined) results['y'] = test.forward(g, inputs, g.leaf(output))
  else {
    const leaf = g.leaf(gradSlot)
    runtime.write(leaf, grad)
    const targets = Object.fromEntries(places.map(([name, slot]) => [name, g.leaf(slot)]))
    Object.assign(
      results,
      test.backward(g, { inputs, grad: leaf, output: g.leaf(output), places: targets }),
    )
  }
  // A gradient may be a view or lie in its slot: a packed copy can always be read.
  const copies = Object.entries(results).map(
    ([name, x]) => [name, g.keep(ops.contiguous(g, x))] as const,
  )
  await g.run(allocator, pacer)
  return Object.fromEntries(
    copies.map(([name, x]) => [name, runtime.read(x, new Float32Array(size(x.shape)))]),
  )
}

it('has a test for every row of the table', () => {
  expect(cases.map(({ name }) => name).sort()).toEqual(Object.keys(opTable).sort())
})

it.each(cases)('the gradient of $name agrees with finite differences', async (test) => {
  const values = Object.fromEntries(
    Object.entries(test.shapes).map(([name, shape]) => [
      name,
      randomTensor(`${test.name}/${name}`, size(shape), { scale: 1 }),
    ]),
  )
  const weights = randomTensor(`${test.name}/loss`, size(test.output), { scale: 1 })
  const lossOf = async (changed: Values): Promise<number> => {
    const { y } = await run(test, changed)
    return weights.reduce((sum, weight, i) => sum + weight * (y?.[i] ?? NaN), 0)
  }
  const gradients = await run(test, values, weights)
  expect(Object.keys(gradients).length).toBeGreaterThan(0)
  for (const [name, gradient] of Object.entries(gradients)) {
    // Directional derivatives along random directions test all numbers of a gradient at once.
    for (const seed of [1, 2, 3]) {
      const direction = randomTensor(`${test.name}/${name}/${seed}`, gradient.length, { scale: 1 })
      const step = 1e-2
      const moved = (sign: number): Values => ({
        ...values,
        [name]: Float32Array.from(
          values[name] ?? [],
          (x, i) => x + sign * step * (direction[i] ?? 0),
        ),
      })
      const numeric = ((await lossOf(moved(1))) - (await lossOf(moved(-1)))) / (2 * step)
      const exact = gradient.reduce((sum, x, i) => sum + x * (direction[i] ?? 0), 0)
      const length = Math.hypot(...gradient)
      expect(Math.abs(numeric - exact) / length, `${name} along ${seed}`).toBeLessThan(1e-2)
    }
  }
})

it.each([
  ['rmsNorm', () => opTable.rmsNorm.shape({ x: [8, 4, 1, 1], weight: [9, 1, 1, 1] })],
  ['swiglu', () => opTable.swiglu.shape({ gate: [8, 4, 1, 1], up: [9, 4, 1, 1] })],
  ['rope', () => opTable.rope.shape({ x: [8, 2, 4, 1], positions: [5, 1, 1, 1] })],
  [
    'attention',
    () => opTable.attention.shape({ q: [8, 3, 4, 1], k: [8, 4, 2, 1], v: [8, 4, 2, 1] }),
  ],
])('the shape rule of %s refuses inputs that do not fit', (name, action) => {
  expect(action).toThrow(name)
})

/** A group of two layers with rank 16 in plain JavaScript, the yardstick for linear.ts. */
function plainLinear(
  size_: { I: number; O: number; P: number },
  data: Values,
  T_: number,
): Float32Array {
  const { I, O, P } = size_
  const y = new Float32Array(O * T_)
  for (let t = 0; t < T_; t += 1) {
    for (let o = 0; o < O; o += 1) {
      let sum = 0
      for (let i = 0; i < I; i += 1)
        sum += (data['w']?.[o * I + i] ?? 0) * (data['x']?.[t * I + i] ?? 0)
      for (let p = 0; p < P; p += 1) {
        let h = 0
        for (let i = 0; i < I; i += 1)
          h += (data['a']?.[p * I + i] ?? 0) * (data['x']?.[t * I + i] ?? 0)
        sum += (data['b']?.[o * P + p] ?? 0) * h
      }
      y[t * O + o] = sum
    }
  }
  return y
}

it('a linear layer with an adapter agrees with plain arithmetic, forward and backward', async () => {
  const [I, O, P] = [48, 32, 16]
  const data = {
    w: randomTensor('w', I * O, { scale: 1 }),
    x: randomTensor('x', I * T, { scale: 1 }),
    a: randomTensor('a', I * P, { scale: 1 }),
    b: randomTensor('b', O * P, { scale: 0.3 }),
    dy: randomTensor('dy', O * T, { scale: 1 }),
  }
  using arena = new Arena(runtime)
  const slots = {
    weight: arena.plan([I + P, O]),
    transposed: arena.plan([O + P, I]),
    a: arena.plan([I, P]),
    bT: arena.plan([O, P]),
    x: arena.plan([I, T]),
    h: arena.plan([P, T]),
    joined: arena.plan([I + P, T]),
    y: arena.plan([O, T]),
    dy: arena.plan([O, T]),
    joinedBack: arena.plan([O + P, T]),
    dx: arena.plan([I, T]),
    gradA: arena.plan([I, P]),
    gradB: arena.plan([O, P]),
  }
  arena.commit('a test')
  const group: LinearGroup = {
    inFeatures: I,
    outFeatures: O,
    paddedRank: P,
    members: [{ name: 'layer', outFeatures: O }],
    factors: {
      kind: 'plain',
      weight: slots.weight,
      transposed: slots.transposed,
      a: slots.a,
      bT: [slots.bT],
    },
  }
  using g = new Graph(runtime)
  const write = (slot: (typeof slots)['x'], values: Float32Array): void =>
    runtime.write(g.leaf(slot), values)
  write(
    slots.weight,
    matrix(I + P, O, (i, o) => (i < I ? data.w[o * I + i] : data.b[o * P + i - I])),
  )
  write(
    slots.transposed,
    matrix(O + P, I, (o, i) => (o < O ? data.w[o * I + i] : data.a[(o - O) * I + i])),
  )
  write(slots.a, data.a)
  write(
    slots.bT,
    matrix(O, P, (o, p) => data.b[o * P + p]),
  )
  write(slots.x, data.x)
  write(slots.dy, data.dy)
  const x = g.leaf(slots.x)
  linearForward(g, { x, group, output: slots.y, adapter: { h: slots.h, joined: slots.joined } })
  linearBackward(g, {
    group,
    x,
    h: g.leaf(slots.h),
    grads: [g.leaf(slots.dy)],
    joined: slots.joinedBack,
    output: slots.dx,
    gradA: slots.gradA,
    gradB: [slots.gradB],
  })
  await g.run(allocator, pacer)
  const read = (slot: (typeof slots)['x']): Float32Array =>
    runtime.read(g.leaf(slot), new Float32Array(size(slot.shape)))
  expect(relativeDifference(read(slots.y), plainLinear({ I, O, P }, data, T))).toBeLessThan(1e-5)
  const dh = matrix(P, T, (p, t) =>
    dot(O, (o) => (data.b[o * P + p] ?? 0) * (data.dy[t * O + o] ?? 0)),
  )
  const h = matrix(P, T, (p, t) =>
    dot(I, (i) => (data.a[p * I + i] ?? 0) * (data.x[t * I + i] ?? 0)),
  )
  const dx = matrix(
    I,
    T,
    (i, t) =>
      dot(O, (o) => (data.w[o * I + i] ?? 0) * (data.dy[t * O + o] ?? 0)) +
      dot(P, (p) => (data.a[p * I + i] ?? 0) * (dh[t * P + p] ?? 0)),
  )
  const gradA = matrix(I, P, (i, p) =>
    dot(T, (t) => (data.x[t * I + i] ?? 0) * (dh[t * P + p] ?? 0)),
  )
  const gradB = matrix(O, P, (o, p) =>
    dot(T, (t) => (data.dy[t * O + o] ?? 0) * (h[t * P + p] ?? 0)),
  )
  expect(relativeDifference(read(slots.dx), dx)).toBeLessThan(1e-5)
  expect(relativeDifference(read(slots.gradA), gradA)).toBeLessThan(1e-5)
  expect(relativeDifference(read(slots.gradB), gradB)).toBeLessThan(1e-5)
})

/** Values by column and row, columns fastest. */
function matrix(
  columns: number,
  rows: number,
  at: (column: number, row: number) => number | undefined,
): Float32Array {
  return Float32Array.from(
    { length: columns * rows },
    (_, i) => at(i % columns, Math.floor(i / columns)) ?? NaN,
  )
}

function dot(count: number, at: (i: number) => number): number {
  let sum = 0
  for (let i = 0; i < count; i += 1) sum += at(i)
  return sum
}

it('a product too large for one segment gives the same numbers in pieces', async () => {
  const [I, O, tokens] = [1024, 4096, 400]
  using arena = new Arena(runtime)
  const weight = arena.plan([I, O])
  const x = arena.plan([I, tokens])
  const y = arena.plan([O, tokens])
  const whole = arena.plan([O, tokens])
  arena.commit('a test')
  using g = new Graph(runtime)
  runtime.write(g.leaf(weight), randomTensor('large', I * O, { scale: 1 }))
  runtime.write(g.leaf(x), randomTensor('input', I * tokens, { scale: 1 }))
  const group = {
    inFeatures: I,
    outFeatures: O,
    paddedRank: 0,
    members: [],
    factors: { kind: 'plain', weight, transposed: null, a: weight, bT: [] },
  } as const
  linearForward(g, { x: g.leaf(x), group, output: y, adapter: null })
  g.into(whole, ops.mulMat(g, g.leaf(weight), g.leaf(x)))
  await g.run(allocator, pacer)
  const read = (slot: typeof y): Float32Array =>
    runtime.read(g.leaf(slot), new Float32Array(O * tokens))
  expect(Buffer.from(read(y).buffer).equals(Buffer.from(read(whole).buffer))).toBe(true)
})

it('an operator that does not fit is refused in JavaScript, before ggml can abort', () => {
  using arena = new Arena(runtime)
  const [a, b] = [arena.plan([8, 4]), arena.plan([9, 4])]
  arena.commit('a test')
  using g = new Graph(runtime)
  expect(() => ops.mulMat(g, g.leaf(a), g.leaf(b))).toThrow(
    'mulMat cannot take [8, 4, 1, 1] and [9, 4, 1, 1]',
  )
  expect(() => ops.view(g, g.leaf(a), { shape: [8, 5] })).toThrow(/view/)
  expect(() => ops.add(g, g.leaf(a), g.leaf(b))).toThrow(/ggml_add/)
})
