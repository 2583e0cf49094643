// Which keys a block of queries sees, with or without a window, and the mask that cuts the window's edge.
import { ops, type Graph, type Tensor } from '../../ffi/index.ts'

/** Queries [start, start + count) see among them the keys [first, first + keys), which end where they end. */
export interface Block {
  readonly start: number
  readonly count: number
  readonly end: number
  readonly first: number
  readonly keys: number
}

/** ggml's fast products need inner sizes that are multiples of 16, so a block's keys begin at one. */
const keyMultiple = 16

export function blocksOf(
  T: number,
  { block, window }: { readonly block: number; readonly window: number | null },
): Block[] {
  return Array.from({ length: Math.ceil(T / block) }, (_, index) => {
    const start = index * block
    const end = Math.min(T, start + block)
    const oldest = window === null ? 0 : Math.max(0, start - window + 1)
    const first = Math.floor(oldest / keyMultiple) * keyMultiple
    return { start, count: end - start, end, first, keys: end - first }
  })
}

/**
 * −∞ where a key lies before a query's window, else 0, [keys, count]; null where no query of the block has such a
 * key. A query at p sees the keys above p − window, as llama.cpp and transformers have it. Future keys are not
 * masked here.
 */
export function windowMask(g: Graph, b: Block, window: number | null): Tensor | null {
  if (window === null || b.end - b.first <= window) return null
  const queries = ops.reshape(g, ops.countUp(g, b.start - b.first, b.count), 1, b.count)
  const keys = ops.countUp(g, 0, b.keys)
  const distance = ops.sub(g, ops.repeat(g, queries, b.keys, b.count), keys) // [keys, count]
  const inside = ops.step(g, ops.scaleAndShift(g, distance, { factor: -1, offset: window }))
  return ops.log(g, inside)
}
