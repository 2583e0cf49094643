// Every variant that this machine can compile and run, against plain arithmetic in f64.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { relativeDifference } from '../../../../test/support/numerics.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.ts'
import type { Kernels } from '../ffi/index.ts'
import { Allocator, Arena, Graph, ops, Runtime, type Slot } from '../ffi/index.ts'
import { openEngine } from '../index.ts'
import { seededRandom } from '../random.ts'
import { compileVariant, variantsOf } from './compile.ts'
import { openKernels, openVariant } from './open.ts'

const pacer = { budget: Infinity, before: async (): Promise<void> => undefined }
const variants = variantsOf[process.arch] ?? []

const runtime = new Runtime({ threads: 2 })
const opened = await Promise.all(variants.map((variant) => openVariant(runtime, variant)))
const runnable = opened.flatMap((it) => (it.kind === 'native' ? [it.kernels] : []))
const reasons = opened.flatMap((it) => (it.kind === 'none' ? [it.reason] : []))

let folder: TemporaryFolder
let allocator: Allocator

beforeAll(async () => {
  folder = await temporaryFolder()
  allocator = new Allocator(runtime)
})

afterAll(async () => {
  allocator[Symbol.dispose]()
  runtime[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
  expect(runtime.counter.alive).toBe(0)
})

const random = (seed: number, count: number): Float32Array => {
  const source = seededRandom(seed)
  return Float32Array.from({ length: count }, () => source.normal())
}

/** bf16 keeps 8 bits: two rounded factors differ by 2.4e-3 (root mean square); f32 sums by far less. */
const bound = (kernels: Kernels): number => (/BF16/.test(kernels.name) ? 4e-3 : 1e-5)

const scratchOf = (kernels: Kernels, arena: Arena): Slot =>
  kernels.planScratch(arena, { tokens: 64, headSize: 64, width: 64 })

interface Size {
  readonly n: number
  readonly k: number
  readonly tokens: number
  /** Columns of the second factor; 0 = none. */
  readonly p: number
}

function plainProduct(
  { n, k, tokens, p }: Size,
  data: Readonly<Record<'w' | 'x' | 'e' | 'h', Float32Array>>,
): Float32Array {
  const y = new Float32Array(n * tokens)
  for (let t = 0; t < tokens; t += 1) {
    for (let row = 0; row < n; row += 1) {
      let sum = 0
      for (let i = 0; i < k; i += 1)
        sum += (data.w[row * k + i] ?? NaN) * (data.x[t * k + i] ?? NaN)
      for (let i = 0; i < p; i += 1)
        sum += (data.e[row * p + i] ?? NaN) * (data.h[t * p + i] ?? NaN)
      y[t * n + row] = sum
    }
  }
  return y
}

/** Runs a product; every number of `y` is set before, so that one that is not written is seen. */
async function runProduct(
  kernels: Kernels,
  size: Size,
  data: Readonly<Record<'w' | 'x' | 'e' | 'h', Float32Array>>,
): Promise<Float32Array> {
  const { n, k, tokens, p } = size
  using arena = new Arena(runtime)
  const panels = kernels.plan(arena, [n, k])
  const extra = p === 0 ? null : kernels.plan(arena, [n, p])
  const slots = {
    x: arena.plan([k, tokens]),
    h: arena.plan([Math.max(1, p), tokens]),
    y: arena.plan([n, tokens]),
    after: arena.plan([16]),
  }
  const scratch = scratchOf(kernels, arena)
  arena.commit()
  using g = new Graph(runtime)
  const write = (slot: Slot, values: Float32Array): void => runtime.write(g.leaf(slot), values)
  const half = Math.floor(n / 2)
  if (half > 0) kernels.pack(panels, data.w.subarray(0, half * k), 0)
  kernels.pack(panels, data.w.subarray(half * k), half)
  if (extra !== null) kernels.pack(extra, data.e, 0)
  write(slots.x, data.x)
  if (p > 0) write(slots.h, data.h)
  write(slots.y, new Float32Array(n * tokens).fill(NaN))
  write(slots.after, new Float32Array(16).fill(7))
  const main = { panels, x: g.leaf(slots.x) }
  const second = extra === null ? null : { panels: extra, x: g.leaf(slots.h) }
  g.into(slots.y, ops.packedProduct(g, { kernels, scratch }, { main, second }))
  await g.run(allocator, pacer)
  const after = runtime.read(g.leaf(slots.after), new Float32Array(16))
  expect([...after], 'nothing is written past the result').toEqual(Array(16).fill(7))
  return runtime.read(g.leaf(slots.y), new Float32Array(n * tokens))
}

const dataOf = ({ n, k, tokens, p }: Size) => ({
  w: random(1, n * k),
  x: random(2, k * tokens),
  e: random(3, n * p),
  h: random(4, p * tokens),
})

const sizes: readonly Size[] = [
  { n: 1, k: 1, tokens: 1, p: 0 },
  { n: 7, k: 3, tokens: 2, p: 1 },
  { n: 16, k: 32, tokens: 16, p: 16 },
  { n: 17, k: 33, tokens: 31, p: 5 },
  { n: 32, k: 64, tokens: 12, p: 0 },
  { n: 48, k: 31, tokens: 13, p: 48 },
  { n: 63, k: 100, tokens: 97, p: 16 },
  { n: 96, k: 576, tokens: 112, p: 32 },
  // More columns than are packed at once, for every element type.
  { n: 33, k: 4500, tokens: 20, p: 16 },
  { n: 20, k: 2048, tokens: 100, p: 3 },
]

if (runnable.length === 0) it.skip(`no kernels here: ${reasons.join('; ')}`, () => undefined)

describe.each(runnable.map((kernels) => [kernels.name, kernels] as const))('%s', (_, kernels) => {
  it.each(sizes)('n $n, k $k, $tokens tokens, p $p agree with plain arithmetic', async (size) => {
    const data = dataOf(size)
    const found = await runProduct(kernels, size, data)
    expect(relativeDifference(found, plainProduct(size, data))).toBeLessThan(bound(kernels))
  })

  it('the differences have no sign', async () => {
    const size = { n: 256, k: 576, tokens: 64, p: 16 }
    const data = dataOf(size)
    const found = await runProduct(kernels, size, data)
    const expected = plainProduct(size, data)
    const deviation = Math.hypot(...found.map((value, i) => value - (expected[i] ?? NaN))) / 128
    const mean =
      found.reduce((sum, value, i) => sum + value - (expected[i] ?? NaN), 0) / found.length
    // The mean of 16,384 independent differences stays within five of its standard errors.
    expect(Math.abs(mean)).toBeLessThan((5 * deviation) / 128 + 1e-7)
  })

  it('one, two and three threads give the same bytes', async () => {
    const size = { n: 200, k: 321, tokens: 150, p: 16 }
    const data = dataOf(size)
    const run = async (threads: number): Promise<Buffer> => {
      runtime.setThreads(threads)
      return Buffer.from((await runProduct(kernels, size, data)).buffer)
    }
    const one = await run(1)
    expect(one.equals(await run(2))).toBe(true)
    expect(one.equals(await run(3))).toBe(true)
    runtime.setThreads(2)
  })

  it('transposed panels hold the same numbers', async () => {
    const [n, k, tokens] = [75, 97, 20]
    const { w } = dataOf({ n, k, tokens, p: 0 })
    const x = random(5, n * tokens)
    using arena = new Arena(runtime)
    const panels = kernels.plan(arena, [n, k])
    const transposed = kernels.plan(arena, [k, n])
    const [input, output] = [arena.plan([n, tokens]), arena.plan([k, tokens])]
    const scratch = scratchOf(kernels, arena)
    arena.commit()
    kernels.pack(panels, w, 0)
    Array.from(kernels.transpose(panels, transposed))
    using g = new Graph(runtime)
    runtime.write(g.leaf(input), x)
    g.into(
      output,
      ops.packedProduct(
        g,
        { kernels, scratch },
        { main: { panels: transposed, x: g.leaf(input) } },
      ),
    )
    await g.run(allocator, pacer)
    const found = runtime.read(g.leaf(output), new Float32Array(k * tokens))
    const wT = Float32Array.from(
      { length: n * k },
      (_value, i) => w[(i % n) * k + Math.floor(i / n)] ?? NaN,
    )
    const size = { n: k, k: n, tokens, p: 0 }
    const expected = plainProduct(size, { w: wT, x, e: w, h: w })
    expect(relativeDifference(found, expected)).toBeLessThan(bound(kernels))
  })

  it.each([
    [16, 16, 5],
    [33, 7, 300],
    [100, 48, 512],
  ])('sums of outer products, m %i, n %i, %i tokens', async (m, n, tokens) => {
    const [a, b] = [random(6, m * tokens), random(7, n * tokens)]
    using arena = new Arena(runtime)
    const slots = [arena.plan([m, tokens]), arena.plan([n, tokens]), arena.plan([m, n])] as const
    const scratch = scratchOf(kernels, arena)
    arena.commit()
    using g = new Graph(runtime)
    runtime.write(g.leaf(slots[0]), a)
    runtime.write(g.leaf(slots[1]), b)
    g.into(slots[2], ops.packedOuter(g, { kernels, scratch }, [g.leaf(slots[0]), g.leaf(slots[1])]))
    await g.run(allocator, pacer)
    const found = runtime.read(g.leaf(slots[2]), new Float32Array(m * n))
    const expected = Float32Array.from({ length: m * n }, (_value, i) => {
      let sum = 0
      for (let t = 0; t < tokens; t += 1) {
        sum += (a[t * m + (i % m)] ?? NaN) * (b[t * n + Math.floor(i / m)] ?? NaN)
      }
      return sum
    })
    expect(relativeDifference(found, expected)).toBeLessThan(bound(kernels))
  })

  it('a product that does not fit is refused before ggml sees it', () => {
    using arena = new Arena(runtime)
    const panels = kernels.plan(arena, [8, 4])
    const x = arena.plan([5, 2])
    const scratch = scratchOf(kernels, arena)
    arena.commit()
    using g = new Graph(runtime)
    const main = { panels, x: g.leaf(x) }
    expect(() => ops.packedProduct(g, { kernels, scratch }, { main })).toThrow(
      'packedProduct cannot take [5, 2, 1, 1]',
    )
    expect(() => kernels.pack(panels, new Float32Array(9 * 4), 0)).toThrow('do not fit [8, 4]')
  })
})

describe('compiling', () => {
  const [variant] = variants

  it.skipIf(variant === undefined)(
    'without a compiler the reason is given and ggml runs',
    async () => {
      const none = { cacheDir: path.join(folder.path, 'none'), searchPath: folder.path }
      expect(await openKernels(runtime, none)).toEqual({
        kind: 'none',
        reason: 'no C compiler (cc, clang, gcc, zig) found',
      })
    },
  )

  it.skipIf(variant === undefined)(
    'a compiler that fails is named and leaves no file behind',
    async () => {
      if (variant === undefined) return
      const [bin, cacheDir] = [path.join(folder.path, 'bin'), path.join(folder.path, 'failed')]
      await mkdir(bin)
      await writeFile(path.join(bin, 'cc'), '#!/bin/sh\necho "error: broken" >&2\nexit 1\n', {
        mode: 0o755,
      })
      const failed = await compileVariant(variant, { cacheDir, searchPath: bin })
      expect(failed).toEqual({
        kind: 'failed',
        reason: `cc cannot compile ${variant.file}: error: broken`,
      })
      expect(await readdir(cacheDir)).toEqual([])
    },
  )

  it.skipIf(runnable.length === 0)(
    'two at once end with one library, which is used again',
    async () => {
      const at = variants.find(({ name }) => name === runnable[0]?.name)
      if (at === undefined) throw new Error('no variant')
      const cacheDir = path.join(folder.path, 'twice')
      const both = await Promise.all([
        compileVariant(at, { cacheDir }),
        compileVariant(at, { cacheDir }),
      ])
      expect(both[0]).toEqual(both[1])
      expect(await readdir(cacheDir)).toHaveLength(1)
      const again = await compileVariant(at, { cacheDir, searchPath: '' })
      expect(again).toEqual(both[0])
    },
  )

  it('the engine says which kernels run, or why none', async () => {
    await using plain = await openEngine({ threads: 1 })
    expect(plain.backend).toMatchObject({ kernels: null, kernelsReason: 'f32 was asked for' })
    await using native = await openEngine({ threads: 1, precision: 'native' })
    const { kernels, kernelsReason } = native.backend
    expect(kernels === null).toBe(kernelsReason !== null)
    if (runnable.some(({ preferred }) => preferred)) expect(kernels).not.toBeNull()
  })
})
