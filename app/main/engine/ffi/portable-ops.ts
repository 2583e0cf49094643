// The operators that not every backend has, or that GPUs read only from packed and aligned memory. On the CPU each
// is the plain one of raw-ops.ts. Elsewhere: the backend's own where it takes the inputs as they lie, else on packed
// copies, else written with elementary operators; what is still missing then runs on the CPU (graph.ts).
import { GGML_PREC_F32 } from './ggml.gen.ts'
import type { Graph } from './graph.ts'
import * as raw from './raw-ops.ts'
import {
  addressOf,
  elementBytes,
  elementCount,
  isContiguous,
  makeTensor,
  type Tensor,
} from './tensor.ts'

/** Some operators of GPUs ignore strides, and Vulkan's abort on a start that is not aligned. */
function packed(g: Graph, x: Tensor): Tensor {
  if (g.runtime.device === 'cpu') return x
  return isContiguous(x) && g.runtime.isAligned(x) ? x : raw.contiguous(g, x)
}

/** Axes 0 and 1 exchanged, packed. */
function transposed(g: Graph, x: Tensor): Tensor {
  return raw.contiguous(g, raw.permute(g, x, [1, 0, 2, 3]))
}

/** Vulkan turns factors with strides into f16 and, unless told otherwise, sums them in f16. */
export function mulMat(g: Graph, a: Tensor, b: Tensor): Tensor {
  if (g.runtime.device === 'cpu') return raw.mulMat(g, a, b)
  const product = raw.mulMat(g, packed(g, a), packed(g, b))
  g.runtime.functions.ggml_mul_mat_set_prec(addressOf(product), GGML_PREC_F32)
  return product
}

/** Without an operator of its own: Σ_k a[·, k] b[·, k] as a product of transposed copies. */
export function outProd(g: Graph, a: Tensor, b: Tensor): Tensor {
  // CUDA asserts that b is stored by rows or by columns.
  const dense = b.strides[0] === elementBytes || b.strides[1] === elementBytes
  return (
    (dense && g.runtime.isAligned(a) && g.runtime.isAligned(b)
      ? g.attempt(() => raw.outProd(g, a, b))
      : null) ??
    g.attempt(() => raw.outProd(g, packed(g, a), packed(g, b))) ??
    mulMat(g, transposed(g, a), transposed(g, b))
  )
}

export function getRows(g: Graph, a: Tensor, ids: Tensor): Tensor {
  return raw.getRows(g, packed(g, a), packed(g, ids))
}

export function sumRows(g: Graph, a: Tensor): Tensor {
  return raw.sumRows(g, packed(g, a))
}

export function argmax(g: Graph, a: Tensor): Tensor {
  return raw.argmax(g, packed(g, a))
}

export function softMax(g: Graph, a: Tensor, factor: number): Tensor {
  return raw.softMax(g, packed(g, a), factor)
}

/** da = factor · y · (dy − Σ y · dy). */
export function softMaxBack(g: Graph, tensors: { dy: Tensor; y: Tensor }, factor: number): Tensor {
  const [dy, y] = [packed(g, tensors.dy), packed(g, tensors.y)]
  const native = g.attempt(() => raw.softMaxBack(g, { dy, y }, factor))
  if (native !== null) return native
  const along = raw.sumRows(g, raw.mul(g, y, dy)) // [1, ...]
  return raw.scale(g, raw.mul(g, y, raw.sub(g, dy, along)), factor)
}

/** Adds −∞ instead where the backend cannot set it. */
export function maskFuture(g: Graph, a: Tensor, past: number): Tensor {
  const native = g.attempt(() => raw.maskFuture(g, a, past))
  if (native !== null) return native
  const [E, n] = a.shape
  const mask = Float32Array.from({ length: E * n }, (_, at) =>
    at % E > past + Math.floor(at / E) ? -Infinity : 0,
  )
  return raw.add(g, a, g.constant(mask, E, n))
}

/**
 * Rows that Vulkan's kernel takes at once: above 512 it starts work groups for a multiple of 512 rows and does not
 * check the end (rms_norm_back.comp of ggml 0.23), so it would write behind the result.
 */
const vulkanRows = 512

/** With y = x · r and r = 1 / √(mean x² + ε):  dx = r · (dy − y · mean(y · dy)). */
export function rmsNormBack(g: Graph, tensors: { dy: Tensor; x: Tensor }, epsilon: number): Tensor {
  const [dy, x] = [packed(g, tensors.dy), packed(g, tensors.x)]
  const [C] = x.shape
  const rows = elementCount(x.shape) / C
  const safe = g.runtime.device !== 'vulkan' || rows <= vulkanRows || rows % vulkanRows === 0
  const native = safe ? g.attempt(() => raw.rmsNormBack(g, { dy, x }, epsilon)) : null
  if (native !== null) return native
  const y = raw.rmsNorm(g, x, epsilon)
  const along = raw.scale(g, raw.sumRows(g, raw.mul(g, y, dy)), 1 / C) // [1, T]
  const across = raw.sub(g, dy, raw.mul(g, y, along)) // [C, T]
  const squares = raw.sumRows(g, raw.mul(g, x, x)) // [1, T]
  return div(g, across, rootOf(g, squares, { factor: 1 / C, bias: epsilon }))
}

export function silu(g: Graph, x: Tensor): Tensor {
  return g.attempt(() => raw.silu(g, x)) ?? raw.silu(g, packed(g, x))
}

/** With s = sigmoid(x) and u = x · s:  silu′(x) = s + u − u · s. */
export function siluBack(g: Graph, dy: Tensor, x: Tensor): Tensor {
  const [grad, input] = [packed(g, dy), packed(g, x)]
  const native = g.attempt(() => raw.siluBack(g, grad, input))
  if (native !== null) return native
  const s = sigmoid(g, input)
  const u = raw.mul(g, input, s)
  return raw.mul(g, grad, raw.sub(g, raw.add(g, s, u), raw.mul(g, u, s)))
}

type RopeTensors = Parameters<typeof raw.rope>[1]
type RopeOptions = Parameters<typeof raw.rope>[2]

export function rope(g: Graph, tensors: RopeTensors, options: RopeOptions): Tensor {
  const { positions } = tensors
  return (
    g.attempt(() => raw.rope(g, tensors, options)) ??
    raw.rope(g, { x: packed(g, tensors.x), positions }, options)
  )
}

export function ropeBack(g: Graph, tensors: RopeTensors, options: RopeOptions): Tensor {
  const { positions } = tensors
  const x = packed(g, tensors.x)
  return (
    g.attempt(() => raw.ropeBack(g, { x, positions }, options)) ??
    mirroredRope(g, { x, positions }, options)
  )
}

/** A rotation by −θ is one by θ between two mirrorings of each pair's second number. */
function mirroredRope(g: Graph, { x, positions }: RopeTensors, options: RopeOptions): Tensor {
  const [D] = x.shape
  const signs = Float32Array.from({ length: D }, (_, at) => (at % 2 === 0 ? 1 : -1))
  const mirror = g.constant(signs, D)
  const mirrored = raw.mul(g, x, mirror)
  return raw.mul(g, raw.rope(g, { x: mirrored, positions }, options), mirror)
}

/** b is repeated along the axes where a is a multiple of it. */
function div(g: Graph, a: Tensor, b: Tensor): Tensor {
  return emit(g, a, g.runtime.functions.ggml_div(g.context, addressOf(a), addressOf(b)))
}

function sigmoid(g: Graph, a: Tensor): Tensor {
  return emit(g, a, g.runtime.functions.ggml_sigmoid(g.context, addressOf(a)))
}

/** √(factor · a + bias). */
function rootOf(g: Graph, a: Tensor, line: { factor: number; bias: number }): Tensor {
  const { functions } = g.runtime
  const { factor, bias } = line
  const sum = emit(g, a, functions.ggml_scale_bias(g.context, addressOf(a), factor, bias))
  return emit(g, a, functions.ggml_sqrt(g.context, addressOf(sum)))
}

/** An element-wise operator with the shape of `like`. */
function emit(g: Graph, like: Tensor, address: Parameters<typeof makeTensor>[0]): Tensor {
  const { shape } = like
  return g.append(makeTensor(address, { shape }), elementCount(shape) * raw.elementCost)
}
