// Our own operators as graph nodes; they run on ggml's threads like its own. What the C sources take for granted is
// checked first, by kernel-checks.ts. Letters: T tokens, D head size, H heads, K key–value heads, C width, V vocabulary, R
// positions of the head, M ids per position.
import { GGML_TYPE_F32 } from './ggml.gen.ts'
import type { Graph } from './graph.ts'
import {
  ensure,
  ensurePacked,
  ensurePart,
  ensurePlaces,
  ensureScratch,
  ensureShape,
  ensureTurned,
  isMatrix,
} from './kernel-checks.ts'
import type { Kernels, OperatorName, Panels } from './kernel-library.ts'
import type { Pointer } from './pointer.ts'
import type { Slot } from './runtime.ts'
import {
  addressOf,
  elementBytes,
  elementCount,
  makeTensor,
  shapeOf,
  type Shape,
  type Tensor,
} from './tensor.ts'

/** GGML_N_TASKS_MAX: as many tasks as there are threads. */
const allThreads = -1

/** Work of one element-wise step, in multiply-adds of ggml's product. */
const elementCost = 4

/** Where kernels find their working memory, made by `Kernels.planScratch`. */
export interface KernelCall {
  readonly kernels: Kernels
  readonly scratch: Slot
}

export interface PackedFactor {
  readonly panels: Panels
  /** [columns, T]. */
  readonly x: Tensor
}

/** Products need the same for all sizes. */
const anySize = { tokens: 1, headSize: 1, width: 1 } as const

const productFlags = { second: 1, residual: 2, bias: 4 } as const

/** panels [n, k] · x [k, T] (+ second panels [n, p] · x [p, T]) (+ residual [n, T] or bias [n]) → [n, T]. */
export function packedProduct(
  g: Graph,
  call: KernelCall,
  at: {
    readonly main: PackedFactor
    readonly second?: PackedFactor | null
    readonly residual?: Tensor | null
    readonly bias?: Tensor | null
  },
): Tensor {
  const { main, second = null, residual = null, bias = null } = at
  const [T, { rows }] = [main.x.shape[1], main.panels]
  const parts = second === null ? [main] : [main, second]
  for (const { panels, x } of parts) {
    const fits = x.shape[0] === panels.columns && x.shape[1] === T && panels.rows === rows
    ensure(fits && isMatrix(x), 'packedProduct', x)
  }
  ensure(second === null || second.panels.columns <= 768, 'packedProduct', main.x)
  ensure(residual === null || bias === null, 'packedProduct', main.x)
  ensureScratch(call, anySize, 'packedProduct')
  if (residual !== null) ensureShape(residual, [rows, T], 'packedProduct')
  if (bias !== null) ensureShape(bias, [rows], 'packedProduct')
  const columns = parts.reduce((sum, { panels }) => sum + panels.columns, 0)
  return custom(g, call, {
    name: 'product',
    shape: shapeOf(rows, T),
    sources: [
      g.leaf(call.scratch),
      ...parts.flatMap(({ panels, x }) => [g.leaf(panels.slot), x]),
      ...[residual, bias].filter((tensor) => tensor !== null),
    ],
    bits:
      (second === null ? 0 : productFlags.second) |
      (residual === null ? 0 : productFlags.residual) |
      (bias === null ? 0 : productFlags.bias),
    cost: (rows * T * columns) / call.kernels.speedup,
  })
}

/** a [m, T], b [n, T] → [m, n], the sum over T of outer products; faster where n is the smaller one. */
export function packedOuter(g: Graph, call: KernelCall, [a, b]: readonly [Tensor, Tensor]): Tensor {
  ensure(isMatrix(a) && isMatrix(b) && a.shape[1] === b.shape[1], 'packedOuter', a, b)
  ensureScratch(call, anySize, 'packedOuter')
  const shape = shapeOf(a.shape[0], b.shape[0])
  const cost = (elementCount(shape) * a.shape[1]) / Math.max(1, call.kernels.speedup / 2)
  return custom(g, call, { name: 'outer', shape, sources: [g.leaf(call.scratch), a, b], cost })
}

export interface NormParams {
  readonly weight: Tensor
  readonly epsilon: number
  /** Added to the result. */
  readonly residual?: Tensor | null
}

/** x / rms(x) · weight (+ residual), over the first axis. */
export function kernelNorm(g: Graph, call: KernelCall, at: NormParams & { x: Tensor }): Tensor {
  const { x, weight, epsilon, residual = null } = at
  ensureShape(weight, [x.shape[0]], 'kernelNorm')
  if (residual !== null) ensureShape(residual, x.shape, 'kernelNorm')
  return elementwise(g, call, {
    name: 'norm',
    shape: x.shape,
    sources: [x, weight, ...(residual === null ? [] : [residual])],
    value: epsilon,
    bits: residual === null ? 0 : 1,
  })
}

/** Gradient of x of kernelNorm (+ residual). */
export function kernelNormBack(
  g: Graph,
  call: KernelCall,
  at: NormParams & { readonly dy: Tensor; readonly x: Tensor },
): Tensor {
  const { dy, x, weight, epsilon, residual = null } = at
  ensureShape(weight, [x.shape[0]], 'kernelNormBack')
  if (residual !== null) ensureShape(residual, x.shape, 'kernelNormBack')
  ensureShape(dy, x.shape, 'kernelNormBack')
  return elementwise(g, call, {
    name: 'norm_back',
    shape: x.shape,
    sources: [dy, x, weight, ...(residual === null ? [] : [residual])],
    value: epsilon,
    bits: residual === null ? 0 : 1,
  })
}

export interface RotateParams {
  readonly heads: number
  readonly keyValueHeads: number
  readonly style: 'pairs' | 'halves'
  /** Cosines, then sines of every token's angles, [D, T]. */
  readonly table: Tensor
  /** Norms of q and k heads before the rotation, weights [D] each. */
  readonly headNorms?: { readonly q: Tensor; readonly k: Tensor; readonly epsilon: number } | null
}

const largestHead = 1024

/** Rotates the queries and keys of [D, H + 2K, T]; values are copied. */
export function rotateHeads(
  g: Graph,
  call: KernelCall,
  at: RotateParams & { readonly x: Tensor },
): Tensor {
  const { x, table, headNorms = null } = at
  const norms = headNorms === null ? [] : [headNorms.q, headNorms.k]
  for (const weight of norms) ensureShape(weight, [x.shape[0]], 'rotateHeads')
  checkHeads(at, x.shape[1] - at.heads - 2 * at.keyValueHeads)
  ensureShape(table, [x.shape[0], x.shape[2]], 'rotateHeads')
  return elementwise(g, call, {
    name: 'rotate',
    shape: x.shape,
    sources: [x, table, ...norms],
    value: headNorms?.epsilon ?? 0,
    bits: rotateBits(at, 0),
  })
}

/**
 * Gradient of rotateHeads from [D, 3H, T] as attentionBack gives it → [D, H + 2K, T]; the heads of a group are added
 * up. With norms, `input` is what rotateHeads took.
 */
export function rotateHeadsBack(
  g: Graph,
  call: KernelCall,
  at: RotateParams & { readonly grad: Tensor; readonly input: Tensor | null },
): Tensor {
  const { grad, table, headNorms = null, input } = at
  const [D, , T] = grad.shape
  checkHeads(at, grad.shape[1] - 3 * at.heads)
  ensureShape(table, [D, T], 'rotateHeadsBack')
  const norms = headNorms === null ? [] : [headNorms.q, headNorms.k]
  const taken = headNorms === null || input === null ? [] : [input]
  ensure(norms.length === 2 * taken.length, 'rotateHeadsBack', grad)
  for (const weight of norms) ensureShape(weight, [D], 'rotateHeadsBack')
  const whole = [D, at.heads + 2 * at.keyValueHeads, T]
  for (const tensor of taken) ensureShape(tensor, whole, 'rotateHeadsBack')
  return elementwise(g, call, {
    name: 'rotate',
    shape: shapeOf(...whole),
    sources: [grad, table, ...norms, ...taken],
    value: headNorms?.epsilon ?? 0,
    bits: rotateBits(at, 1),
  })
}

function checkHeads(at: RotateParams, difference: number): void {
  const { heads, keyValueHeads, table } = at
  const fits = difference === 0 && heads % keyValueHeads === 0 && heads < 2 ** 14
  ensure(fits && table.shape[0] % 2 === 0 && table.shape[0] <= largestHead, 'rotateHeads', table)
}

function rotateBits(at: RotateParams, inverse: 0 | 1): number {
  const flags = inverse | (at.style === 'halves' ? 2 : 0) | (at.headNorms == null ? 0 : 4)
  return flags + at.heads * 2 ** 4 + at.keyValueHeads * 2 ** 18
}

/** [2F, T], gates above ups → activation(gate) · up, [F, T]. */
export function gated(
  g: Graph,
  call: KernelCall,
  at: { readonly x: Tensor; readonly activation: 'silu' | 'gelu' },
): Tensor {
  const [wide, T] = at.x.shape
  ensure(wide % 2 === 0 && isMatrix(at.x), 'gated', at.x)
  return elementwise(g, call, {
    name: 'gated',
    shape: shapeOf(wide / 2, T),
    sources: [at.x],
    bits: at.activation === 'gelu' ? 1 : 0,
  })
}

/** Gradient of gated: x [2F, T], dy [F, T] → [2F, T]. */
export function gatedBack(
  g: Graph,
  call: KernelCall,
  at: { readonly x: Tensor; readonly dy: Tensor; readonly activation: 'silu' | 'gelu' },
): Tensor {
  const { x, dy, activation } = at
  ensure(isMatrix(x), 'gatedBack', x)
  ensureShape(dy, [x.shape[0] / 2, x.shape[1]], 'gatedBack')
  return elementwise(g, call, {
    name: 'gated_back',
    shape: x.shape,
    sources: [x, dy],
    bits: activation === 'gelu' ? 1 : 0,
  })
}

export interface AttentionCall {
  /** [D, H + 2K, T], rotated. */
  readonly qkv: Tensor
  /**
   * i32 [2, T]: a token sees the keys before the second number and those from the first on to itself. Written before
   * the node is made.
   */
  readonly places: Tensor
  /** The logarithm of each query's sum, [H, T]; written forward, read backward. */
  readonly sums: Tensor
  readonly heads: number
  readonly keyValueHeads: number
  readonly scale: number
  /** First and number of heads (backward) or of key–value heads (forward). */
  readonly part: readonly [number, number]
}

/** → [D · H, T]; only the part's heads are written. */
export function kernelAttention(g: Graph, call: KernelCall, at: AttentionCall): Tensor {
  const [D, , T] = at.qkv.shape
  checkAttention(g, call, at)
  ensurePart(at.part, at.keyValueHeads, 'kernelAttention')
  const work = (at.heads * at.part[1]) / at.keyValueHeads
  return custom(g, call, {
    name: 'attention',
    shape: shapeOf(D * at.heads, T),
    sources: [g.leaf(call.scratch), at.qkv, at.places, at.sums],
    value: at.scale,
    bits: attentionBits(at),
    cost: (work * D * T * T) / Math.max(1, call.kernels.speedup / 3),
  })
}

/** → [D, 3H, T]: the gradients of q, and those of k and v for every query head; only the part's are written. */
export function kernelAttentionBack(
  g: Graph,
  call: KernelCall,
  at: AttentionCall & { readonly attended: Tensor; readonly grad: Tensor },
): Tensor {
  const [D, , T] = at.qkv.shape
  checkAttention(g, call, at)
  ensurePart(at.part, at.heads, 'kernelAttentionBack')
  ensureShape(at.attended, [D * at.heads, T], 'kernelAttentionBack')
  ensureShape(at.grad, [D * at.heads, T], 'kernelAttentionBack')
  return custom(g, call, {
    name: 'attention_back',
    shape: shapeOf(D, 3 * at.heads, T),
    sources: [g.leaf(call.scratch), at.qkv, at.places, at.sums, at.attended, at.grad],
    value: at.scale,
    bits: attentionBits(at),
    cost: (2.5 * at.part[1] * D * T * T) / Math.max(1, call.kernels.speedup / 3),
  })
}

function checkAttention(g: Graph, call: KernelCall, at: AttentionCall): void {
  const { qkv, places, sums, heads, keyValueHeads } = at
  const fits = qkv.shape[1] === heads + 2 * keyValueHeads && heads % keyValueHeads === 0
  ensure(fits && heads < 256 && places.type === 'i32', 'kernelAttention', qkv, places)
  const [headSize, , tokens] = qkv.shape
  ensure(qkv.strides[0] === elementBytes, 'kernelAttention', qkv)
  ensurePacked(places, [2, tokens], 'kernelAttention')
  ensurePacked(sums, [heads, tokens], 'kernelAttention')
  ensureScratch(call, { ...anySize, tokens, headSize }, 'kernelAttention')
  ensurePlaces(g, places, 'kernelAttention')
}

function attentionBits({ heads, keyValueHeads, part }: AttentionCall): number {
  return heads + keyValueHeads * 2 ** 8 + part[0] * 2 ** 16 + part[1] * 2 ** 24
}

export interface HeadInputs {
  /** [V, C]. */
  readonly panels: Panels
  /** [C, R], R at most `Kernels.headRows`. */
  readonly hidden: Tensor
  readonly temperature: number
}

/** Parts of the vocabulary whose results are added up afterwards. */
export const headSlices = 16

/** [2 + 2K, R, slices]: maximum, sum of exponentials relative to it, K largest logits, their ids. */
export function headStats(
  g: Graph,
  call: KernelCall,
  at: HeadInputs & {
    readonly topK: number
    /** i32 [M, R], and the place of their logits [M, R]. */
    readonly gather: { readonly ids: Tensor; readonly logits: Tensor } | null
  },
): Tensor {
  const { panels, hidden, gather } = at
  const R = hidden.shape[1]
  checkHead(call, at)
  if (gather !== null) {
    ensurePacked(gather.ids, [gather.ids.shape[0], R], 'headStats')
    ensurePacked(gather.logits, gather.ids.shape, 'headStats')
    ensure(gather.ids.type === 'i32', 'headStats', gather.ids)
  }
  return custom(g, call, {
    name: 'head_stats',
    shape: shapeOf(2 + 2 * at.topK, R, headSlices),
    sources: [
      g.leaf(call.scratch),
      g.leaf(panels.slot),
      hidden,
      ...(gather === null ? [] : [gather.ids, gather.logits]),
    ],
    value: 1 / at.temperature,
    bits: panels.rows,
    cost: (panels.rows * panels.columns * R) / call.kernels.speedup,
  })
}

/** Gradient of a loss over gathered log-probabilities, [C, R, slices]. */
export function headBack(
  g: Graph,
  call: KernelCall,
  at: HeadInputs & {
    /** [C, V]. */
    readonly turned: Panels
    /** Log Z and −Σ gradients / temperature, [2, R]. */
    readonly factors: Tensor
    /** i32 [M, R]. */
    readonly ids: Tensor
    /** d loss / d log-probability / temperature, [M, R]. */
    readonly gradients: Tensor
  },
): Tensor {
  const { panels, turned, hidden, factors, ids, gradients } = at
  const R = hidden.shape[1]
  checkHead(call, at)
  ensureTurned(panels, turned, 'headBack')
  ensurePacked(factors, [2, R], 'headBack')
  ensurePacked(ids, [ids.shape[0], R], 'headBack')
  ensurePacked(gradients, ids.shape, 'headBack')
  ensure(ids.type === 'i32', 'headBack', ids)
  return custom(g, call, {
    name: 'head_back',
    shape: shapeOf(panels.columns, R, headSlices),
    sources: [
      g.leaf(call.scratch),
      g.leaf(panels.slot),
      g.leaf(turned.slot),
      hidden,
      factors,
      ids,
      gradients,
    ],
    value: 1 / at.temperature,
    bits: panels.rows,
    cost: (2 * panels.rows * panels.columns * R) / call.kernels.speedup,
  })
}

/** Parts of KL(base ‖ θ) to `parts` [R, slices]; returns its gradient [C, R, slices], or no numbers without `turned`. */
export function headKlParts(
  g: Graph,
  call: KernelCall,
  at: HeadInputs & {
    readonly turned: Panels | null
    readonly baseHidden: Tensor
    /** Log Z of the base, of θ, and the gradient's factor, [3, R]. */
    readonly factors: Tensor
    readonly parts: Tensor
  },
): Tensor {
  const { panels, turned, hidden, baseHidden, factors, parts } = at
  const R = hidden.shape[1]
  checkHead(call, at)
  if (turned !== null) ensureTurned(panels, turned, 'headKlParts')
  ensureShape(baseHidden, hidden.shape, 'headKlParts')
  ensurePacked(factors, [3, R], 'headKlParts')
  ensureShape(parts, [R, headSlices], 'headKlParts')
  const products = turned === null ? 2 : 3
  return custom(g, call, {
    name: 'head_kl',
    shape: shapeOf(turned === null ? 1 : panels.columns, R, headSlices),
    sources: [
      g.leaf(call.scratch),
      g.leaf(panels.slot),
      g.leaf((turned ?? panels).slot),
      baseHidden,
      hidden,
      factors,
      parts,
    ],
    value: 1 / at.temperature,
    bits: panels.rows,
    cost: (products * panels.rows * panels.columns * R) / call.kernels.speedup,
  })
}

function checkHead(call: KernelCall, { panels, hidden, temperature }: HeadInputs): void {
  const [C, R] = hidden.shape
  const fits = C === panels.columns && R <= call.kernels.headRows && panels.rows < 2 ** 24
  ensure(fits && isMatrix(hidden) && temperature > 0, 'the head', hidden)
  ensureScratch(call, { ...anySize, width: C }, 'the head')
}

/** [n, R, slices] → the sum over slices, [n, R]. */
export function sumSlices(g: Graph, call: KernelCall, x: Tensor): Tensor {
  const shape = shapeOf(x.shape[0], x.shape[1])
  const cost = elementCount(x.shape) * elementCost
  return custom(g, call, { name: 'sum_slices', shape, sources: [x], cost })
}

interface CustomCall {
  readonly name: OperatorName
  readonly shape: Shape
  readonly sources: readonly Tensor[]
  readonly value?: number
  readonly bits?: number
  readonly cost: number
}

function elementwise(g: Graph, call: KernelCall, at: Omit<CustomCall, 'cost'>): Tensor {
  for (const source of at.sources) ensure(source.strides[0] === elementBytes, at.name, source)
  return custom(g, call, { ...at, cost: elementCount(at.shape) * elementCost })
}

function custom(g: Graph, { kernels }: KernelCall, at: CustomCall): Tensor {
  const addresses = BigUint64Array.from(at.sources, addressOf)
  const address = g.runtime.functions.ggml_custom_4d(
    g.context,
    GGML_TYPE_F32,
    ...at.shape,
    addresses,
    addresses.length,
    kernels.operators[at.name],
    allThreads,
    settings(at.value ?? 0, at.bits ?? 0),
  )
  return g.append(makeTensor(address, { shape: at.shape }), at.cost)
}

const words = new DataView(new ArrayBuffer(8))

/** A float and 32 bits in place of a pointer, as kernels.h unpacks them. */
function settings(value: number, bits: number): Pointer<'memory'> | null {
  words.setFloat32(0, value, true)
  words.setUint32(4, bits, true)
  const all = words.getBigUint64(0, true)
  return all === 0n ? null : (all as Pointer<'memory'>)
}
