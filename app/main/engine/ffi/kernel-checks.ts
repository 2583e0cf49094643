// What the C sources in native/ take for granted about a call, checked before a node is made: a wrong one would read
// or write past a tensor. Not what the operators compute; that is in kernel-ops.ts.
import type { Kernels, Panels, ScratchSize } from './kernel-library.ts'
import type { Graph } from './graph.ts'
import type { Slot } from './runtime.ts'
import { elementBytes, isContiguous, shapeOf, type Tensor } from './tensor.ts'

export function ensure(condition: boolean, op: string, ...tensors: readonly Tensor[]): void {
  if (condition) return
  const shapes = tensors.map((tensor) => `[${tensor.shape.join(', ')}]`).join(' and ')
  throw new Error(`${op} cannot take ${shapes}`)
}

/** The shape, and numbers side by side on the first axis. */
export function ensureShape(x: Tensor, sizes: readonly number[], op: string): void {
  ensure(String(shapeOf(...sizes)) === String(x.shape) && x.strides[0] === elementBytes, op, x)
}

/** The shape without gaps: these are read as one array. */
export function ensurePacked(x: Tensor, sizes: readonly number[], op: string): void {
  ensureShape(x, sizes, op)
  ensure(isContiguous(x), op, x)
}

/** Rows of packed numbers. */
export function isMatrix(x: Tensor): boolean {
  return x.strides[0] === elementBytes && x.shape[2] * x.shape[3] === 1
}

/** Throws where a thread's part of the scratch is smaller than a call of this size needs. */
export function ensureScratch(
  { kernels, scratch }: { readonly kernels: Kernels; readonly scratch: Slot },
  size: ScratchSize,
  op: string,
): void {
  const [needed, held] = [kernels.scratchBytes(size), scratch.shape[0] * elementBytes]
  if (held >= needed) return
  const { tokens, headSize, width } = size
  const call = `${tokens} tokens, heads of ${headSize} and ${width} channels`
  throw new Error(`${op} of ${call} needs ${needed} bytes of scratch for a thread, found ${held}`)
}

/**
 * Throws where a token sees keys that come after it, or none. `places` i32 [2, T] must be written before the node is
 * made.
 */
export function ensurePlaces(g: Graph, places: Tensor, op: string): void {
  const T = places.shape[1]
  const values = g.runtime.read(places, new Int32Array(2 * T))
  for (let t = 0; t < T; t += 1) {
    const [start, prefix] = [values[2 * t] ?? NaN, values[2 * t + 1] ?? NaN]
    const isCausal = start >= 0 && prefix >= 0 && prefix <= t + 1
    if (isCausal && (start <= t || prefix > 0)) continue
    throw new Error(`${op}: token ${t} sees the keys before ${prefix} and those from ${start} on`)
  }
}

/** First and number of heads of one node. */
export function ensurePart(
  [first, count]: readonly [number, number],
  heads: number,
  op: string,
): void {
  if (first >= 0 && count > 0 && first + count <= heads) return
  throw new Error(`${op}: ${count} heads from ${first} on are not among ${heads}`)
}

/** Panels [C, V] beside those of [V, C]. */
export function ensureTurned(panels: Panels, turned: Panels, op: string): void {
  if (turned.rows === panels.columns && turned.columns === panels.rows) return
  const of = ({ rows, columns }: Panels): string => `[${columns}, ${rows}]`
  throw new Error(`${op}: ${of(turned)} is not the transposed of ${of(panels)}`)
}
