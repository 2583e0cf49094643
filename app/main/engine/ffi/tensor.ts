// A tensor as the rest of the engine sees it: shape and strides in JavaScript, the native address hidden.
// Shapes are in ggml's order, fastest axis first: [n0, n1, n2, n3].
import { GGML_TYPE_F32, GGML_TYPE_I32 } from './ggml.gen.ts'
import type { Pointer } from './pointer.ts'

export type Shape = readonly [number, number, number, number]
export type ElementType = 'f32' | 'i32'

export const elementBytes = 4
export const typeNumbers = { f32: GGML_TYPE_F32, i32: GGML_TYPE_I32 } as const

const addresses = new WeakMap<Tensor, Pointer<'ggml_tensor'>>()

export class Tensor {
  readonly shape: Shape
  /** Bytes between neighbours on each axis. */
  readonly strides: Shape
  readonly type: ElementType

  constructor(shape: Shape, strides: Shape, type: ElementType) {
    this.shape = shape
    this.strides = strides
    this.type = type
  }
}

export function makeTensor(
  address: Pointer<'ggml_tensor'> | null,
  layout: { readonly shape: Shape; readonly strides?: Shape; readonly type?: ElementType },
): Tensor {
  if (address === null) throw new Error('ggml returned no tensor')
  const strides = layout.strides ?? contiguousStrides(layout.shape)
  const tensor = new Tensor(layout.shape, strides, layout.type ?? 'f32')
  addresses.set(tensor, address)
  return tensor
}

/** The native address; only this folder imports it. */
export function addressOf(tensor: Tensor): Pointer<'ggml_tensor'> {
  const address = addresses.get(tensor)
  if (address === undefined) throw new Error('the tensor has no native address')
  return address
}

/** Completes a shape with ones. */
export function shapeOf(...sizes: readonly number[]): Shape {
  return [sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1, sizes[3] ?? 1]
}

export function elementCount(shape: Shape): number {
  return shape[0] * shape[1] * shape[2] * shape[3]
}

export function byteLength(shape: Shape): number {
  return elementCount(shape) * elementBytes
}

export function contiguousStrides(shape: Shape): Shape {
  const row = elementBytes * shape[0]
  return [elementBytes, row, row * shape[1], row * shape[1] * shape[2]]
}

export function isContiguous(tensor: Tensor): boolean {
  const expected = contiguousStrides(tensor.shape)
  return tensor.strides.every(
    (stride, axis) => stride === expected[axis] || tensor.shape[axis] === 1,
  )
}

export function sameShape(a: Tensor, b: Tensor): boolean {
  return a.shape.every((size, axis) => size === b.shape[axis])
}
