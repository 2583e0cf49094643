// Our own operators as graph nodes; they run on ggml's threads like its own.
import { GGML_TYPE_F32 } from './ggml.gen.ts'
import type { Graph } from './graph.ts'
import type { Kernels, Panels } from './kernel-library.ts'
import { mulMat } from './raw-ops.ts'
import { addressOf, elementBytes, makeTensor, shapeOf, type Tensor } from './tensor.ts'

/** GGML_N_TASKS_MAX: as many tasks as there are threads. */
const allThreads = -1

export interface PackedFactor {
  readonly panels: Panels
  /** [columns, T]. */
  readonly x: Tensor
}

/** panels [n, k] · x [k, T] (+ panels [n, p] · x [p, T]) → [n, T]. */
export function packedProduct(
  g: Graph,
  kernels: Kernels,
  factors: readonly [PackedFactor, PackedFactor?],
): Tensor {
  const [main, extra] = factors
  const T = main.x.shape[1]
  const { rows } = main.panels
  const parts = extra === undefined ? [main] : [main, extra]
  for (const { panels, x } of parts) {
    const fits = x.shape[0] === panels.columns && x.shape[1] === T && panels.rows === rows
    if (!fits || x.strides[0] !== elementBytes || x.shape[2] * x.shape[3] !== 1) {
      const shape = `[${panels.rows}, ${panels.columns}]`
      throw new Error(`packedProduct cannot take ${shape} and [${x.shape.join(', ')}]`)
    }
  }
  const sources = parts.flatMap(({ panels, x }) => {
    const high = g.leaf(panels.slot)
    return [high, x, panels.low === null ? high : g.leaf(panels.low)]
  })
  const columns = parts.reduce(
    (sum, { panels }) => sum + panels.columns * (panels.low === null ? 1 : 3),
    0,
  )
  return custom(g, {
    operator: kernels.operators.product,
    shape: [rows, T],
    sources: [g.leaf(kernels.scratch), ...sources],
    cost: (rows * T * columns) / kernels.speedup,
  })
}

/** a [m, T], b [n, T] → [m, n], the sum over T of outer products. */
export function packedOuter(g: Graph, kernels: Kernels, [a, b]: readonly [Tensor, Tensor]): Tensor {
  const packed = [a, b].every((x) => x.strides[0] === elementBytes && x.shape[2] * x.shape[3] === 1)
  if (!packed || a.shape[1] !== b.shape[1]) {
    throw new Error(`packedOuter cannot take [${a.shape.join(', ')}] and [${b.shape.join(', ')}]`)
  }
  const shape = [a.shape[0], b.shape[0]] as const
  const cost = shape[0] * shape[1] * a.shape[1]
  const sources = [g.leaf(kernels.scratch), a, b]
  return custom(g, { operator: kernels.operators.outer, shape, sources, cost })
}

/** ggml's mulMat of two inputs, a [k, n, q], b [k, m, q] → [n, m, q], in f32; ggml itself where k is too large. */
export function nativeMatMul(
  g: Graph,
  kernels: Kernels,
  [a, b]: readonly [Tensor, Tensor],
): Tensor {
  const packed = [a, b].every((x) => x.strides[0] === elementBytes && x.shape[3] === 1)
  const fits = a.shape[0] === b.shape[0] && a.shape[2] === b.shape[2]
  if (!packed || !fits || a.shape[0] > kernels.matMulColumns) return mulMat(g, a, b)
  const shape = [a.shape[1], b.shape[1], b.shape[2]] as const
  return custom(g, {
    operator: kernels.operators.matmul,
    shape,
    sources: [g.leaf(kernels.scratch), a, b],
    cost: shape[0] * shape[1] * shape[2] * a.shape[0],
  })
}

interface CustomCall {
  readonly operator: Kernels['operators']['product']
  readonly shape: readonly [number, number, number?]
  readonly sources: readonly Tensor[]
  readonly cost: number
}

function custom(g: Graph, { operator, shape, sources, cost }: CustomCall): Tensor {
  const addresses = BigUint64Array.from(sources, addressOf)
  const address = g.runtime.functions.ggml_custom_4d(
    g.context,
    GGML_TYPE_F32,
    shape[0],
    shape[1],
    shape[2] ?? 1,
    1,
    addresses,
    addresses.length,
    operator,
    allThreads,
    null,
  )
  return g.append(makeTensor(address, { shape: shapeOf(shape[0], shape[1], shape[2] ?? 1) }), cost)
}
