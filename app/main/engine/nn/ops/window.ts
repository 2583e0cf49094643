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

/** The masks of a graph's blocks; blocks of one geometry, which most are, share one. */
export function windowMasks(g: Graph, window: number | null): (b: Block) => Tensor | null {
  const made = new Map<string, Tensor>()
  return (b) => {
    if (window === null || b.keys <= window) return null
    const geometry = `${b.keys}/${b.count}`
    const mask = made.get(geometry) ?? windowMask(g, b, window)
    made.set(geometry, mask)
    return mask
  }
}

/**
 * −∞ where a key lies before a query's window, else 0, [keys, count]. A query at p sees the keys above p − window,
 * as llama.cpp and transformers have it. Future keys are not masked here.
 */
function windowMask(g: Graph, b: Block, window: number): Tensor {
  const queries = ops.reshape(g, ops.countUp(g, b.keys - b.count, b.count), 1, b.count)
  const keys = ops.countUp(g, 0, b.keys)
  const distance = ops.sub(g, ops.repeat(g, queries, b.keys, b.count), keys) // [keys, count]
  const inside = ops.step(g, ops.scaleAndShift(g, distance, { factor: -1, offset: window }))
  return ops.log(g, inside)
}
