// Chooses the best kernels that compile here, that this processor can run and whose results agree with ggml's.
import { Allocator, Arena, Graph, Kernels, ops, type Runtime, type Slot } from '../ffi/index.ts'
import { seededRandom } from '../random.ts'
import { compileVariant, variantsOf, type CompileOptions, type Variant } from './compile.ts'

export type OpenedKernels =
  | { readonly kind: 'native'; readonly kernels: Kernels }
  | { readonly kind: 'none'; readonly reason: string }

export async function openKernels(
  runtime: Runtime,
  options: CompileOptions = {},
): Promise<OpenedKernels> {
  const variants = variantsOf[process.arch] ?? []
  let reason = `there are no kernels for ${process.arch}`
  for (const variant of variants) {
    const opened = await openVariant(runtime, variant, options)
    if (opened.kind === 'none') reason = opened.reason
    else if (opened.kernels.preferred) return opened
  }
  return { kind: 'none', reason }
}

/** One variant: compiled, loaded and tested. */
export async function openVariant(
  runtime: Runtime,
  variant: Variant,
  options: CompileOptions = {},
): Promise<OpenedKernels> {
  const compiled = await compileVariant(variant, options)
  if (compiled.kind === 'failed') return { kind: 'none', reason: compiled.reason }
  const { name } = variant
  let kernels: Kernels | null
  try {
    kernels = Kernels.open({ name, path: compiled.path })
  } catch (error) {
    return { kind: 'none', reason: `the ${name} kernels cannot be loaded: ${String(error)}` }
  }
  if (kernels === null) return { kind: 'none', reason: `this processor lacks ${name}` }
  const difference = await selfTest(runtime, kernels)
  if (difference <= selfTestBound) return { kind: 'native', kernels }
  return { kind: 'none', reason: `the ${name} kernels differ from ggml by ${difference}` }
}

/**
 * ‖kernel − ggml‖ / ‖ggml‖ of a random product. Rounding both factors to bf16 gives 2.4e-3; a wrong layout of a
 * tensor or a panel gives more than 1.
 */
const selfTestBound = 6e-3

/** Odd sizes, so that every edge is used: 97 rows, 75 columns, 29 tokens. */
const size = { rows: 97, columns: 75, tokens: 29 } as const

async function selfTest(runtime: Runtime, kernels: Kernels): Promise<number> {
  using arena = new Arena(runtime)
  using allocator = new Allocator(runtime)
  const { rows, columns, tokens } = size
  const plain = arena.plan([columns, rows])
  const input = arena.plan([columns, tokens])
  const panels = kernels.plan(arena, [rows, columns])
  const outputs = [arena.plan([rows, tokens]), arena.plan([rows, tokens])] as const
  const scratch = kernels.planScratch(arena, { tokens, headSize: 16, width: columns })
  arena.commit()
  const random = seededRandom(7)
  const fill = (count: number): Float32Array => Float32Array.from({ length: count }, random.normal)
  const weights = fill(rows * columns)
  using g = new Graph(runtime)
  const [weight, x] = [g.leaf(plain), g.leaf(input)]
  runtime.write(weight, weights)
  runtime.write(x, fill(columns * tokens))
  kernels.pack(panels, weights, 0)
  g.into(outputs[0], ops.mulMat(g, weight, x))
  g.into(outputs[1], ops.packedProduct(g, { kernels, scratch }, { main: { panels, x } }))
  await g.run(allocator, { budget: Infinity, before: async () => undefined })
  const read = (slot: Slot): Float32Array =>
    runtime.read(g.leaf(slot), new Float32Array(rows * tokens))
  return relativeDifference(read(outputs[1]), read(outputs[0]))
}

function relativeDifference(found: Float32Array, expected: Float32Array): number {
  let [difference, norm] = [0, 0]
  expected.forEach((value, i) => {
    difference += ((found[i] ?? NaN) - value) ** 2
    norm += value ** 2
  })
  return Math.sqrt(difference / norm)
}
