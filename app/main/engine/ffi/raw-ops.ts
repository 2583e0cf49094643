// Typed wrappers of ggml's operators. Each checks in JavaScript what ggml would assert (an assert aborts the
// process), appends a node to the graph and estimates its cost in multiply-adds.
import { GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_NORMAL } from './ggml.gen.ts'
import type { Graph } from './graph.ts'
import {
  addressOf,
  elementBytes,
  elementCount,
  isContiguous,
  makeTensor,
  sameShape,
  shapeOf,
  type Shape,
  type Tensor,
} from './tensor.ts'

/** Work of one element-wise step, in multiply-adds of a matrix product that take as long. */
export const elementCost = 16

function ensure(condition: boolean, op: string, ...tensors: readonly Tensor[]): void {
  if (condition) return
  const shapes = tensors.map((tensor) => `[${tensor.shape.join(', ')}]`).join(' and ')
  throw new Error(`${op} cannot take ${shapes}`)
}

function emit(g: Graph, tensor: Tensor, cost = elementCount(tensor.shape) * elementCost): Tensor {
  return g.append(tensor, cost)
}

function rowsPacked(tensor: Tensor): boolean {
  return tensor.strides[0] === elementBytes
}

/** a [k, n, p], b [k, m, q] → [n, m, q]; q is a multiple of p. Rows of a may be strided. */
export function mulMat(g: Graph, a: Tensor, b: Tensor): Tensor {
  const fits = a.shape[0] === b.shape[0] && b.shape[2] % a.shape[2] === 0 && a.shape[3] === 1
  ensure(fits && b.shape[3] === 1 && rowsPacked(a) && rowsPacked(b), 'mulMat', a, b)
  const shape = shapeOf(a.shape[1], b.shape[1], b.shape[2])
  const address = g.runtime.functions.ggml_mul_mat(g.context, addressOf(a), addressOf(b))
  return emit(g, makeTensor(address, { shape }), elementCount(shape) * a.shape[0])
}

/** a [m, k, q], b [n, k, q] → [m, n, q], the sum over k of outer products. */
export function outProd(g: Graph, a: Tensor, b: Tensor): Tensor {
  const fits = a.shape[1] === b.shape[1] && a.shape[2] === b.shape[2]
  ensure(fits && rowsPacked(a), 'outProd', a, b)
  const shape = shapeOf(a.shape[0], b.shape[0], b.shape[2])
  const address = g.runtime.functions.ggml_out_prod(g.context, addressOf(a), addressOf(b))
  return emit(g, makeTensor(address, { shape }), elementCount(shape) * a.shape[1] * 3)
}

type BinaryName = 'ggml_add' | 'ggml_sub' | 'ggml_mul'

/** Whether b, repeated, fills a. */
function repeatsInto(a: Tensor, b: Tensor): boolean {
  return a.shape.every((size, axis) => size % (b.shape[axis] ?? 1) === 0)
}

/** b is repeated along the axes where a is a multiple of it. */
function binary(g: Graph, name: BinaryName, [a, b]: readonly [Tensor, Tensor]): Tensor {
  ensure(repeatsInto(a, b) && rowsPacked(a) && rowsPacked(b), name, a, b)
  const address = g.runtime.functions[name](g.context, addressOf(a), addressOf(b))
  return emit(g, makeTensor(address, { shape: a.shape }))
}

export function add(g: Graph, a: Tensor, b: Tensor): Tensor {
  return binary(g, 'ggml_add', [a, b])
}

export function sub(g: Graph, a: Tensor, b: Tensor): Tensor {
  return binary(g, 'ggml_sub', [a, b])
}

export function mul(g: Graph, a: Tensor, b: Tensor): Tensor {
  return binary(g, 'ggml_mul', [a, b])
}

/** Adds b into the memory of a, which may be a view; b is repeated along the axes where a is a multiple of it. */
export function addInPlace(g: Graph, a: Tensor, b: Tensor): Tensor {
  ensure(repeatsInto(a, b) && rowsPacked(a) && rowsPacked(b), 'addInPlace', a, b)
  const address = g.runtime.functions.ggml_add_inplace(g.context, addressOf(a), addressOf(b))
  return emit(g, makeTensor(address, { shape: a.shape, strides: a.strides }))
}

export function scale(g: Graph, a: Tensor, factor: number): Tensor {
  ensure(isContiguous(a), 'scale', a)
  const address = g.runtime.functions.ggml_scale(g.context, addressOf(a), factor)
  return emit(g, makeTensor(address, { shape: a.shape }))
}

/** factor · a + offset. */
export function scaleAndShift(
  g: Graph,
  a: Tensor,
  { factor, offset }: { readonly factor: number; readonly offset: number },
): Tensor {
  ensure(isContiguous(a), 'scaleAndShift', a)
  const address = g.runtime.functions.ggml_scale_bias(g.context, addressOf(a), factor, offset)
  return emit(g, makeTensor(address, { shape: a.shape }))
}

/** The numbers first, first + 1, …, [count]. */
export function countUp(g: Graph, first: number, count: number): Tensor {
  const { functions } = g.runtime
  const address = functions.ggml_arange(g.context, first, first + count, 1)
  return emit(g, makeTensor(address, { shape: shapeOf(count) }))
}

/** a repeated to fill `sizes`, of which its own are divisors. */
export function repeat(g: Graph, a: Tensor, ...sizes: readonly number[]): Tensor {
  const shape = shapeOf(...sizes)
  const fits = shape.every((size, axis) => size % (a.shape[axis] ?? 1) === 0)
  ensure(fits && rowsPacked(a), `repeat to [${shape.join(', ')}]`, a)
  const address = g.runtime.functions.ggml_repeat_4d(g.context, addressOf(a), ...shape)
  return emit(g, makeTensor(address, { shape }))
}

type UnaryName = 'ggml_step' | 'ggml_log' | 'ggml_tanh'

function unary(g: Graph, name: UnaryName, a: Tensor): Tensor {
  ensure(isContiguous(a), name, a)
  const address = g.runtime.functions[name](g.context, addressOf(a))
  return emit(g, makeTensor(address, { shape: a.shape }))
}

/** 1 where a > 0, else 0. */
export function step(g: Graph, a: Tensor): Tensor {
  return unary(g, 'ggml_step', a)
}

/** Natural logarithm; −∞ of 0. */
export function log(g: Graph, a: Tensor): Tensor {
  return unary(g, 'ggml_log', a)
}

export function tanh(g: Graph, a: Tensor): Tensor {
  return unary(g, 'ggml_tanh', a)
}

/** [n0, n1, n2] → [1, n1, n2]. */
export function sumRows(g: Graph, a: Tensor): Tensor {
  const address = g.runtime.functions.ggml_sum_rows(g.context, addressOf(a))
  const shape: Shape = [1, a.shape[1], a.shape[2], a.shape[3]]
  return emit(g, makeTensor(address, { shape }), elementCount(a.shape) * elementCost)
}

/** [n0, n1] → the position of the largest number of each row, i32 [n1]. */
export function argmax(g: Graph, a: Tensor): Tensor {
  ensure(a.shape[2] === 1 && isContiguous(a), 'argmax', a)
  const address = g.runtime.functions.ggml_argmax(g.context, addressOf(a))
  const layout = { shape: shapeOf(a.shape[1]), type: 'i32' } as const
  return emit(g, makeTensor(address, layout), elementCount(a.shape) * elementCost)
}

/** a [n, m, q], ids i32 [r, q] → [n, r, q]. The caller has checked the ids. */
export function getRows(g: Graph, a: Tensor, ids: Tensor): Tensor {
  ensure(a.shape[2] === ids.shape[1] && ids.type === 'i32' && rowsPacked(a), 'getRows', a, ids)
  const shape = shapeOf(a.shape[0], ids.shape[0], ids.shape[1])
  const address = g.runtime.functions.ggml_get_rows(g.context, addressOf(a), addressOf(ids))
  return emit(g, makeTensor(address, { shape }))
}

export function rmsNorm(g: Graph, x: Tensor, epsilon: number): Tensor {
  ensure(rowsPacked(x), 'rmsNorm', x)
  const address = g.runtime.functions.ggml_rms_norm(g.context, addressOf(x), epsilon)
  return emit(g, makeTensor(address, { shape: x.shape }))
}

/** Gradient of rmsNorm: dy, x → dx. */
export function rmsNormBack(g: Graph, tensors: { dy: Tensor; x: Tensor }, epsilon: number): Tensor {
  const { dy, x } = tensors
  ensure(sameShape(dy, x) && isContiguous(dy) && rowsPacked(x), 'rmsNormBack', dy, x)
  const { functions } = g.runtime
  const address = functions.ggml_rms_norm_back(g.context, addressOf(dy), addressOf(x), epsilon)
  return emit(g, makeTensor(address, { shape: x.shape }))
}

export function silu(g: Graph, x: Tensor): Tensor {
  ensure(rowsPacked(x), 'silu', x)
  const address = g.runtime.functions.ggml_silu(g.context, addressOf(x))
  return emit(g, makeTensor(address, { shape: x.shape }))
}

/** dy · silu'(x). */
export function siluBack(g: Graph, dy: Tensor, x: Tensor): Tensor {
  ensure(sameShape(dy, x) && isContiguous(dy) && rowsPacked(x), 'siluBack', dy, x)
  const address = g.runtime.functions.ggml_silu_back(g.context, addressOf(dy), addressOf(x))
  return emit(g, makeTensor(address, { shape: dy.shape }), elementCount(dy.shape) * elementCost * 4)
}

/** silu(gate) · up. */
export function swigluSplit(g: Graph, gate: Tensor, up: Tensor): Tensor {
  ensure(sameShape(gate, up) && rowsPacked(gate) && rowsPacked(up), 'swigluSplit', gate, up)
  const { functions } = g.runtime
  const address = functions.ggml_swiglu_split(g.context, addressOf(gate), addressOf(up))
  return emit(g, makeTensor(address, { shape: gate.shape }))
}

/** Softmax over the first axis of factor · a. */
export function softMax(g: Graph, a: Tensor, factor: number): Tensor {
  return softMaxWith(g, { a, mask: null }, factor)
}

/** Softmax over the first axis of factor · a + mask; a [n, m, q], mask [n, m] for all q alike. */
export function maskedSoftMax(
  g: Graph,
  tensors: { readonly a: Tensor; readonly mask: Tensor },
  factor: number,
): Tensor {
  const { a, mask } = tensors
  const fits = mask.shape[0] === a.shape[0] && mask.shape[1] === a.shape[1]
  ensure(fits && mask.shape[2] === 1 && isContiguous(mask), 'maskedSoftMax', a, mask)
  return softMaxWith(g, tensors, factor)
}

function softMaxWith(
  g: Graph,
  { a, mask }: { readonly a: Tensor; readonly mask: Tensor | null },
  factor: number,
): Tensor {
  ensure(isContiguous(a), 'softMax', a)
  const added = mask === null ? null : addressOf(mask)
  const address = g.runtime.functions.ggml_soft_max_ext(g.context, addressOf(a), added, factor, 0)
  return emit(g, makeTensor(address, { shape: a.shape }))
}

/** Gradient of softMax: dy and the probabilities → da. */
export function softMaxBack(g: Graph, tensors: { dy: Tensor; y: Tensor }, factor: number): Tensor {
  const { dy, y } = tensors
  ensure(sameShape(dy, y) && isContiguous(dy) && isContiguous(y), 'softMaxBack', dy, y)
  const { functions } = g.runtime
  const address = functions.ggml_soft_max_ext_back(
    g.context,
    addressOf(dy),
    addressOf(y),
    factor,
    0,
  )
  return emit(g, makeTensor(address, { shape: y.shape }))
}

/** Sets a[i, j, :] to −∞ where i > past + j, in place. */
export function maskFuture(g: Graph, a: Tensor, past: number): Tensor {
  ensure(isContiguous(a), 'maskFuture', a)
  const address = g.runtime.functions.ggml_diag_mask_inf_inplace(g.context, addressOf(a), past)
  return emit(g, makeTensor(address, { shape: a.shape }))
}

export interface RopeOptions {
  readonly dimensions: number
  readonly contextLength: number
  readonly base: number
  /** Which channels rotate together: neighbours, or channel i and i + dimensions / 2. */
  readonly style: 'pairs' | 'halves'
  /** Factor on all positions. */
  readonly scale: number
  /** Divisors of the frequencies, [dimensions / 2]; null = none. */
  readonly factors: Tensor | null
}

/** Rotates the channels of a [headSize, heads, T] by the angles of positions i32 [T]. */
export function rope(g: Graph, tensors: { x: Tensor; positions: Tensor }, o: RopeOptions): Tensor {
  return ropeWith(g, 'ggml_rope_ext', tensors, o)
}

/** Gradient of rope: the inverse rotation. */
export function ropeBack(
  g: Graph,
  tensors: { x: Tensor; positions: Tensor },
  o: RopeOptions,
): Tensor {
  return ropeWith(g, 'ggml_rope_ext_back', tensors, o)
}

function ropeWith(
  g: Graph,
  name: 'ggml_rope_ext' | 'ggml_rope_ext_back',
  ...[{ x, positions }, o]: [{ x: Tensor; positions: Tensor }, RopeOptions]
): Tensor {
  const { factors, dimensions } = o
  const fits = x.shape[2] === positions.shape[0] && positions.type === 'i32'
  ensure(fits && rowsPacked(x) && dimensions <= x.shape[0], name, x, positions)
  ensure(dimensions % 2 === 0, name, x)
  if (factors !== null) {
    ensure(factors.shape[0] === dimensions / 2 && rowsPacked(factors), name, x, factors)
  }
  // No YaRN: extrapolation 0, attention factor 1; the betas are then unused.
  const address = g.runtime.functions[name](
    g.context,
    addressOf(x),
    addressOf(positions),
    factors === null ? null : addressOf(factors),
    dimensions,
    o.style === 'pairs' ? GGML_ROPE_TYPE_NORMAL : GGML_ROPE_TYPE_NEOX,
    o.contextLength,
    o.base,
    o.scale,
    0,
    1,
    32,
    1,
  )
  return emit(g, makeTensor(address, { shape: x.shape }))
}

/** Copies into the memory of `target`, which may be a view; shapes are equal. */
export function copyInto(g: Graph, source: Tensor, target: Tensor): Tensor {
  ensure(sameShape(source, target), 'copyInto', source, target)
  const address = g.runtime.functions.ggml_cpy(g.context, addressOf(source), addressOf(target))
  return emit(g, makeTensor(address, { shape: target.shape, strides: target.strides }))
}

/** A packed copy. */
export function contiguous(g: Graph, a: Tensor): Tensor {
  const address = g.runtime.functions.ggml_cont(g.context, addressOf(a))
  return emit(g, makeTensor(address, { shape: a.shape, type: a.type }))
}

/** Moves axis i to place axes[i]; a view. */
export function permute(g: Graph, a: Tensor, axes: Shape): Tensor {
  const shape: [number, number, number, number] = [1, 1, 1, 1]
  const strides: [number, number, number, number] = [0, 0, 0, 0]
  for (const axis of [0, 1, 2, 3] as const) {
    const target = axes[axis] as 0 | 1 | 2 | 3
    shape[target] = a.shape[axis]
    strides[target] = a.strides[axis]
  }
  const address = g.runtime.functions.ggml_permute(g.context, addressOf(a), ...axes)
  return g.append(makeTensor(address, { shape, strides, type: a.type }), 0)
}

export function reshape(g: Graph, a: Tensor, ...sizes: readonly number[]): Tensor {
  const shape = shapeOf(...sizes)
  ensure(isContiguous(a) && elementCount(shape) === elementCount(a.shape), 'reshape', a)
  const address = g.runtime.functions.ggml_reshape_4d(g.context, addressOf(a), ...shape)
  return g.append(makeTensor(address, { shape, type: a.type }), 0)
}

export interface ViewOptions {
  readonly shape: readonly number[]
  /** Strides of axes 1, 2 and 3 in elements; default: those of the source. */
  readonly strides?: readonly number[]
  /** First element. */
  readonly offset?: number
}

export function view(g: Graph, a: Tensor, options: ViewOptions): Tensor {
  const shape = shapeOf(...options.shape)
  const given = (options.strides ?? []).map((stride) => stride * elementBytes)
  const strides = a.strides.map((stride, axis) =>
    axis === 0 ? stride : (given[axis - 1] ?? stride),
  )
  const full = strides as unknown as Shape
  const offset = (options.offset ?? 0) * elementBytes
  const last = shape.reduce((sum, size, axis) => sum + (size - 1) * (full[axis] ?? 0), offset)
  const limit = a.shape.reduce((sum, size, axis) => sum + (size - 1) * (a.strides[axis] ?? 0), 0)
  ensure(last <= limit && offset >= 0, `view [${shape.join(', ')}]`, a)
  const { functions } = g.runtime
  const [, nb1, nb2, nb3] = full
  const address = functions.ggml_view_4d(g.context, addressOf(a), ...shape, nb1, nb2, nb3, offset)
  return g.append(makeTensor(address, { shape, strides: full, type: a.type }), 0)
}

/** First index and number of indices. */
export type Range = readonly [start: number, count: number]

/** Rows [start, start + count) of the second axis. */
export function viewRows(g: Graph, a: Tensor, [start, count]: Range): Tensor {
  const offset = (start * a.strides[1]) / elementBytes
  return view(g, a, { shape: [a.shape[0], count, a.shape[2]], offset })
}

/** Columns [start, start + count) of the first axis. */
export function viewColumns(g: Graph, a: Tensor, [start, count]: Range): Tensor {
  return view(g, a, { shape: [count, a.shape[1], a.shape[2]], offset: start })
}
