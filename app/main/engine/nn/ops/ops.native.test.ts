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
  readonly row: keyof typeof opTable
  /** The row with the parameters that are tested. */
  readonly name: string
  readonly shapes: Shapes
  /** Inputs that are not drawn by chance. */
  readonly fixed?: Values
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
const attentionScale = 0.3
const ropeParams = {
  dimensions: 8,
  contextLength: 128,
  base: 10_000,
  scale: 1,
  style: 'pairs',
  factors: null,
} as const

const cases: readonly Case[] = [
  {
    row: 'rmsNorm',
    name: 'rmsNorm',
    shapes: { x: [24, T], weight: [24] },
    output: [24, T],
    forward: (g, { x, weight }) => opTable.rmsNorm.forward(g, pair(x, weight), { epsilon }),
    backward: (g, { inputs: { x, weight }, grad }) =>
      opTable.rmsNorm.backward(g, { inputs: pair(x, weight), grad }, { epsilon }),
  },
  {
    row: 'rmsNorm',
    name: 'rmsNorm head by head',
    shapes: { x: [8, 3, T], weight: [8] },
    output: [8, 3, T],
    forward: (g, { x, weight }) => opTable.rmsNorm.forward(g, pair(x, weight), { epsilon }),
    backward: (g, { inputs: { x, weight }, grad }) =>
      opTable.rmsNorm.backward(g, { inputs: pair(x, weight), grad }, { epsilon }),
  },
  ...(['silu', 'gelu'] as const).map(gatedUnitCase),
  ropeCase('rope of pairs', {}),
  ropeCase('rope of halves', { style: 'halves' }),
  ropeCase('rope with frequency factors', { style: 'pairs', scale: 0.5 }, [1, 2, 4, 8]),
  attentionCase('attention', null),
  attentionCase('attention over the last 5 keys', 5),
  attentionCase('attention over the last 16 keys', 16),
  attentionCase('attention over the last 21 keys', 21),
  attentionCase('attention over the last 2 keys', 2),
]

function gatedUnitCase(activation: 'silu' | 'gelu'): Case {
  return {
    row: 'gatedUnit',
    name: `gatedUnit with ${activation}`,
    shapes: { gate: [24, T], up: [24, T] },
    output: [24, T],
    forward: (g, { gate, up }) =>
      opTable.gatedUnit.forward(g, { gate: some(gate), up: some(up) }, { activation }),
    backward: (g, { inputs: { gate, up }, grad }) =>
      opTable.gatedUnit.backward(
        g,
        { inputs: { gate: some(gate), up: some(up) }, grad },
        { activation },
      ),
  }
}

function ropeCase(
  name: string,
  changes: { readonly style?: 'pairs' | 'halves'; readonly scale?: number },
  divisors?: readonly number[],
): Case {
  const params = { ...ropeParams, ...changes }
  const shapes = { x: [8, 3, T], ...(divisors === undefined ? {} : { factors: [4] }) }
  return {
    row: 'rope',
    name,
    shapes,
    fixed: divisors === undefined ? {} : { factors: Float32Array.from(divisors) },
    output: [8, 3, T],
    forward: (g, { x, factors = null }) =>
      opTable.rope.forward(g, { x: some(x), positions: current(g) }, { ...params, factors }),
    backward: (g, { inputs: { x, factors = null }, grad }) =>
      opTable.rope.backward(
        g,
        { inputs: { x: some(x), positions: current(g) }, grad },
        { ...params, factors },
      ),
  }
}

function attentionCase(name: string, window: number | null): Case {
  const params = { block: 16, scale: attentionScale, window }
  return {
    row: 'attention',
    name,
    shapes: { q: [16, 6, T], k: [16, T, 2], v: [16, T, 2] },
    output: [96, T],
    forward: (g, { q, k, v }, output) =>
      opTable.attention.forward(g, { q: some(q), k: some(k), v: some(v) }, { ...params, output }),
    backward: (g, { inputs: { q, k, v }, grad, output, places }) => {
      const gradients = { q: some(places['q']), k: some(places['k']), v: some(places['v']) }
      return opTable.attention.backward(
        g,
        { inputs: { q: some(q), k: some(k), v: some(v) }, grad },
        { ...params, output, gradients },
      )
    },
  }
}

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
  positions.commit()
  positions.reset()
  positionsArena = positions
  arena.commit()
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
  expect([...new Set(cases.map(({ row }) => row))].sort()).toEqual(Object.keys(opTable).sort())
})

/** Random inputs of a case, always the same. */
function valuesOf(test: Case): Record<string, Float32Array> {
  const drawn = Object.entries(test.shapes).map(([name, shape]) => [
    name,
    randomTensor(`${test.name}/${name}`, size(shape), { scale: 1 }),
  ])
  return { ...Object.fromEntries(drawn), ...test.fixed } as Record<string, Float32Array>
}

it.each(cases)('the gradient of $name agrees with finite differences', async (test) => {
  const values = valuesOf(test)
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

function caseOf(name: string): Case {
  const found = cases.find((test) => test.name === name)
  if (found === undefined) throw new Error(`no case ${name}`)
  return found
}

/** Attention of one query after another over the keys that it may see, in plain JavaScript. */
function plainAttention({ q, k, v }: Values, window: number): Float32Array {
  const [D, H, K] = [16, 6, 2]
  const y = new Float32Array(D * H * T)
  for (let t = 0; t < T; t += 1) {
    for (let h = 0; h < H; h += 1) {
      const group = Math.floor((h * K) / H)
      const row = (x: Float32Array | undefined, s: number, d: number): number =>
        x?.[(group * T + s) * D + d] ?? NaN
      const seen = Array.from({ length: t + 1 }, (_, s) => s).filter((s) => t - s < window)
      const weights = seen.map((s) =>
        Math.exp(attentionScale * dot(D, (d) => (q?.[(t * H + h) * D + d] ?? NaN) * row(k, s, d))),
      )
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      for (let d = 0; d < D; d += 1) {
        const sum = dot(seen.length, (i) => (weights[i] ?? NaN) * row(v, seen[i] ?? 0, d))
        y[t * D * H + h * D + d] = sum / total
      }
    }
  }
  return y
}

it.each([
  ['attention', Infinity],
  ['attention over the last 5 keys', 5],
  ['attention over the last 16 keys', 16],
  ['attention over the last 21 keys', 21],
  ['attention over the last 2 keys', 2],
])('%s agrees with plain arithmetic', async (name, window) => {
  const values = valuesOf(caseOf(name))
  const { y } = await run(caseOf(name), values)
  expect(relativeDifference(y ?? [], plainAttention(values, window))).toBeLessThan(1e-6)
})

it('gatedUnit with gelu agrees with plain arithmetic', async () => {
  const test = caseOf('gatedUnit with gelu')
  const values = Object.fromEntries(
    Object.entries(valuesOf(test)).map(([name, x]) => [name, x.map((value) => 5 * value)]),
  )
  const { y } = await run(test, values)
  const gelu = (x: number): number =>
    (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
  const expected = values['gate']?.map((x, i) => gelu(x) * (values['up']?.[i] ?? NaN)) ?? []
  expect(relativeDifference(y ?? [], expected)).toBeLessThan(1e-6)
})

/** One head's channels of a token, rotated in plain JavaScript. */
function plainRope(
  x: readonly number[],
  position: number,
  o: { style: 'pairs' | 'halves'; scale: number; divisors: readonly number[] },
): number[] {
  const y = [...x]
  for (let i = 0; i < x.length / 2; i += 1) {
    const [a, b] = o.style === 'pairs' ? [2 * i, 2 * i + 1] : [i, i + x.length / 2]
    const frequency = ropeParams.base ** ((-2 * i) / x.length) / (o.divisors[i] ?? 1)
    const angle = position * o.scale * frequency
    y[a] = (x[a] ?? NaN) * Math.cos(angle) - (x[b] ?? NaN) * Math.sin(angle)
    y[b] = (x[a] ?? NaN) * Math.sin(angle) + (x[b] ?? NaN) * Math.cos(angle)
  }
  return y
}

it.each([
  ['rope of pairs', 'pairs', 1, []],
  ['rope of halves', 'halves', 1, []],
  ['rope with frequency factors', 'pairs', 0.5, [1, 2, 4, 8]],
] as const)('%s agrees with plain arithmetic', async (...[name, style, scale, divisors]) => {
  const values = valuesOf(caseOf(name))
  const { y } = await run(caseOf(name), values)
  const expected = Array.from({ length: 3 * T }, (_, row) => {
    const x = [...(values['x']?.subarray(8 * row, 8 * row + 8) ?? [])]
    return plainRope(x, sequence[Math.floor(row / 3)] ?? NaN, { style, scale, divisors })
  })
  expect(relativeDifference(y ?? [], expected.flat())).toBeLessThan(1e-5)
})

it.each([
  ['rmsNorm', () => opTable.rmsNorm.shape({ x: [8, 4, 1, 1], weight: [9, 1, 1, 1] })],
  ['gatedUnit', () => opTable.gatedUnit.shape({ gate: [8, 4, 1, 1], up: [9, 4, 1, 1] })],
  ['rope', () => opTable.rope.shape({ x: [8, 2, 4, 1], positions: [5, 1, 1, 1] })],
  [
    'attention',
    () => opTable.attention.shape({ q: [8, 3, 4, 1], k: [8, 4, 2, 1], v: [8, 4, 2, 1] }),
  ],
])('the shape rule of %s refuses inputs that do not fit', (name, action) => {
  expect(action).toThrow(name)
})

/** A layer with a bias and a pair of rank 16 in plain JavaScript, the yardstick for linear.ts. */
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
      y[t * O + o] = sum + (data['bias']?.[o] ?? 0)
    }
  }
  return y
}

it('a linear layer with a bias and an adapter agrees with plain arithmetic, forward and backward', async () => {
  const [I, O, P] = [48, 32, 16]
  const data = {
    w: randomTensor('w', I * O, { scale: 1 }),
    x: randomTensor('x', I * T, { scale: 1 }),
    a: randomTensor('a', I * P, { scale: 1 }),
    b: randomTensor('b', O * P, { scale: 0.3 }),
    dy: randomTensor('dy', O * T, { scale: 1 }),
    bias: randomTensor('bias', O, { scale: 1 }),
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
    bias: arena.plan([O]),
  }
  arena.commit()
  const group: LinearGroup = {
    inFeatures: I,
    outFeatures: O,
    paddedRank: P,
    members: [{ name: 'layer', biasName: 'bias', outFeatures: O }],
    bias: slots.bias,
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
  write(slots.bias, data.bias)
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
  arena.commit()
  using g = new Graph(runtime)
  runtime.write(g.leaf(weight), randomTensor('large', I * O, { scale: 1 }))
  runtime.write(g.leaf(x), randomTensor('input', I * tokens, { scale: 1 }))
  const group = {
    inFeatures: I,
    outFeatures: O,
    paddedRank: 0,
    members: [],
    bias: null,
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
  arena.commit()
  using g = new Graph(runtime)
  expect(() => ops.mulMat(g, g.leaf(a), g.leaf(b))).toThrow(
    'mulMat cannot take [8, 4, 1, 1] and [9, 4, 1, 1]',
  )
  expect(() => ops.view(g, g.leaf(a), { shape: [8, 5] })).toThrow(/view/)
  expect(() => ops.add(g, g.leaf(a), g.leaf(b))).toThrow(/ggml_add/)
})
