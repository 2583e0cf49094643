// Rates of matrix products y = W x in this process: our kernels' packed product in every variant that runs here, and
// ggml's own product of f32, bf16 and q8_0 weights. Each run takes the next matrices in turn, as many as a model has
// layers, so that weights come from memory as in a model. PyTorch's are in peer.py.
import {
  Allocator,
  Arena,
  Graph,
  ops,
  Runtime,
  type Kernels,
  type Slot,
  type Tensor,
} from '../app/main/engine/ffi/index.ts'
import { makeTensor, shapeOf } from '../app/main/engine/ffi/tensor.ts'
import { variantsOf } from '../app/main/engine/kernels/compile.ts'
import { openVariant } from '../app/main/engine/kernels/open.ts'
import { seededRandom } from '../app/main/engine/random.ts'
import { AppError } from '../app/shared/errors.ts'
import { encode, storedTypes, type StoredType } from './stored-types.ts'
import type { ProductReport } from './report-line.ts'

export interface ProductOptions {
  /** Rows and columns of W. */
  readonly shapes: readonly (readonly [number, number])[]
  readonly tokens: number
  readonly threads: number
  readonly matrices: number
  /** Products in one run, so that the start of a graph weighs little. */
  readonly products: number
  readonly runs: number
  /** Only what training uses here: the preferred kernels and ggml's f32. */
  readonly usedOnly: boolean
}

interface Place {
  readonly runtime: Runtime
  readonly arena: Arena
  readonly options: ProductOptions
  readonly rows: number
  readonly columns: number
  /** [columns, tokens]. */
  readonly x: Slot
}

/** Something that multiplies; `prepare` plans memory, `fill` gives the weights once it is there. */
interface Multiplier {
  readonly type: string
  prepare(place: Place): {
    fill(weights: Float32Array): void
    product(g: Graph, matrix: number): Tensor
  }
}

/** Largest ‖y − y of f32‖ / ‖y of f32‖: q8_0 and bf16 stay below 1 %, a wrong layout is above 1. */
const largestDifference = 0.03

const pacer = { budget: Infinity, before: async (): Promise<void> => undefined }

export async function measureProducts(options: ProductOptions): Promise<ProductReport> {
  using runtime = new Runtime({ threads: options.threads })
  const { multipliers, skipped } = await openMultipliers(runtime, options)
  const rates: ProductReport['rates'] = []
  for (const [rows, columns] of options.shapes) {
    const weights = randomValues(rows * columns)
    let expected: Float32Array | null = null
    for (const multiplier of multipliers) {
      const measured = await measureOne(runtime, multiplier, { options, rows, columns, weights })
      // ggml's f32 comes first.
      expected ??= measured.y
      checkAgreement(multiplier.type, measured.y, expected)
      rates.push({ shape: [rows, columns], type: multiplier.type, gflops: measured.gflops })
    }
  }
  return { rates, skipped }
}

async function openMultipliers(
  runtime: Runtime,
  { usedOnly }: ProductOptions,
): Promise<{ multipliers: Multiplier[]; skipped: ProductReport['skipped'] }> {
  const skipped: ProductReport['skipped'] = []
  const kernels: Kernels[] = []
  for (const variant of variantsOf[process.arch] ?? []) {
    if (usedOnly && kernels.length > 0) break
    const opened = await openVariant(runtime, variant)
    if (opened.kind === 'none') skipped.push({ type: variant.name, reason: opened.reason })
    else if (!usedOnly || opened.kernels.preferred) kernels.push(opened.kernels)
  }
  const stored = usedOnly ? (['f32'] as const) : storedTypes
  return { multipliers: [...stored.map(ggmlMultiplier), ...kernels.map(packedMultiplier)], skipped }
}

function packedMultiplier(kernels: Kernels): Multiplier {
  return {
    type: kernels.name,
    prepare({ arena, options, rows, columns, x }) {
      const panels = Array.from({ length: options.matrices }, () =>
        kernels.plan(arena, [rows, columns]),
      )
      const size = { tokens: options.tokens, headSize: 64, width: columns }
      const scratch = kernels.planScratch(arena, size)
      return {
        fill: (weights) => panels.forEach((one) => kernels.pack(one, weights, 0)),
        product: (g, matrix) =>
          ops.packedProduct(
            g,
            { kernels, scratch },
            { main: { panels: at(panels, matrix), x: g.leaf(x) } },
          ),
      }
    },
  }
}

function ggmlMultiplier(type: StoredType): Multiplier {
  return {
    type: `ggml ${type}`,
    prepare({ runtime, arena, options, rows, columns, x }) {
      const { number, bytes } = encode[type]
      // The engine's slots know f32 alone; what matters here is their place.
      const places = Array.from({ length: options.matrices }, () =>
        arena.plan([Math.ceil(bytes(rows * columns) / 4)]),
      )
      return {
        fill(weights) {
          const values = new Float32Array(encode[type].values(weights).buffer)
          for (const place of places) writeSlot(runtime, place, values)
        },
        product(g, matrix) {
          const shape = shapeOf(columns, rows)
          const address = runtime.functions.ggml_new_tensor_4d(g.context, number, ...shape)
          const tensor = makeTensor(address, { shape })
          runtime.bind(tensor, at(places, matrix))
          return ops.mulMat(g, tensor, g.leaf(x))
        },
      }
    },
  }
}

interface Measured {
  readonly gflops: number
  /** The result of the last product, [rows, tokens]. */
  readonly y: Float32Array
}

async function measureOne(
  runtime: Runtime,
  multiplier: Multiplier,
  at: {
    readonly options: ProductOptions
    readonly rows: number
    readonly columns: number
    readonly weights: Float32Array
  },
): Promise<Measured> {
  const { options, rows, columns, weights } = at
  const { tokens, matrices, products, runs } = options
  using arena = new Arena(runtime)
  using allocator = new Allocator(runtime)
  const [x, y] = [arena.plan([columns, tokens]), arena.plan([rows, tokens])]
  const prepared = multiplier.prepare({ runtime, arena, options, rows, columns, x })
  arena.commit()
  prepared.fill(weights)
  writeSlot(runtime, x, randomValues(columns * tokens))
  let best = Infinity
  let turn = 0
  // One run more than asked for: the first reads memory that nobody touched before.
  for (let run = 0; run <= runs; run += 1) {
    using g = new Graph(runtime)
    for (let i = 0; i < products; i += 1) g.into(y, prepared.product(g, (turn + i) % matrices))
    turn += products
    const started = performance.now()
    await g.run(allocator, pacer)
    best = Math.min(best, performance.now() - started)
  }
  using g = new Graph(runtime)
  return {
    gflops: (2 * rows * columns * tokens * products) / best / 1e6,
    y: runtime.read(g.leaf(y), new Float32Array(rows * tokens)),
  }
}

function writeSlot(runtime: Runtime, slot: Slot, values: Float32Array): void {
  using g = new Graph(runtime)
  runtime.write(g.leaf(slot), values)
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new Error(`there is no matrix ${index}`)
  return item
}

function randomValues(count: number): Float32Array {
  const random = seededRandom(count)
  return Float32Array.from({ length: count }, () => random.uniform() - 0.5)
}

/** A rate counts only if the result is right. */
function checkAgreement(type: string, found: Float32Array, expected: Float32Array): void {
  let [difference, norm] = [0, 0]
  expected.forEach((value, i) => {
    difference += ((found[i] ?? NaN) - value) ** 2
    norm += value ** 2
  })
  const relative = Math.sqrt(difference / norm)
  if (relative <= largestDifference) return
  throw new AppError('internal', `the products of ${type} differ from ggml's f32 by ${relative}`)
}
