// Parts of slots and pieces of products, shared by both kinds of linear layers.
import { ops, type Graph, type Slot, type Tensor } from '../../ffi/index.ts'

/** Largest cost of one product; larger ones are cut along the tokens. In multiply-adds. */
export const productBudget = 1.5e9

/** Puts tensors [n, T] under one another in `slot`. */
export function join(g: Graph, parts: readonly Tensor[], slot: Slot): Tensor {
  const target = g.leaf(slot)
  let start = 0
  for (const part of parts) {
    ops.copyInto(g, part, ops.viewColumns(g, target, [start, part.shape[0]]))
    start += part.shape[0]
  }
  return target
}

/** The first part of a place, as a matrix of another shape. */
export function sliceOf(slot: Slot, [columns, rows]: readonly [number, number]): Slot {
  const { buffer, offset, type } = slot
  return { buffer, offset, type, shape: [columns, rows, 1, 1] }
}

/** The place of some rows of a matrix. */
export function rowsOf(slot: Slot, start: number, count: number): Slot {
  const [columns] = slot.shape
  return {
    buffer: slot.buffer,
    offset: slot.offset + start * columns * 4,
    shape: [columns, count, 1, 1],
    type: slot.type,
  }
}
