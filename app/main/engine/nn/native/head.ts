// The LM head on our kernels: log-probabilities, the likeliest tokens and two losses' gradients without a matrix of
// all logits. A few hundred positions at a time; parts of the vocabulary are put together here.
import {
  Graph,
  ops,
  type KernelCall,
  type Panels,
  type Slot,
  type Tensor,
} from '../../ffi/index.ts'
import type { GatherRequest, HeadScores } from '../executor.ts'
import { rowsOf, sliceOf } from '../ops/places.ts'
import type { PackedHead, Work } from '../weights.ts'
import { mergeTop } from '../top-k.ts'
import type { HeadSlots } from './plan.ts'

export interface NativeHead extends KernelCall {
  readonly work: Work
  readonly head: PackedHead
  readonly slots: HeadSlots
  /** [C, R]. */
  readonly hidden: Slot
  readonly temperature: number
}

interface Rows {
  readonly first: number
  readonly count: number
}

function* chunksOf({ hidden, slots }: NativeHead): Generator<Rows> {
  const R = hidden.shape[1]
  for (let first = 0; first < R; first += slots.rows) {
    yield { first, count: Math.min(slots.rows, R - first) }
  }
}

/** Also the logarithm of each position's sum, [R]. */
export async function nativeScores(
  call: NativeHead,
  request: GatherRequest,
): Promise<HeadScores & { readonly logZ: Float64Array }> {
  const R = call.hidden.shape[1]
  const { idsPerRow: M, topK: K } = request
  const scores = {
    logZ: new Float64Array(R),
    gathered: new Float32Array(R * M),
    topIds: new Int32Array(R * K),
    topLogProbs: new Float32Array(R * K),
  }
  for (const rows of chunksOf(call)) await scoreRows(call, request, { scores, rows })
  return scores
}

async function scoreRows(
  call: NativeHead,
  request: GatherRequest,
  { scores, rows }: { readonly scores: HeadScores & { logZ: Float64Array }; readonly rows: Rows },
): Promise<void> {
  const { runtime } = call.work
  const { idsPerRow: M, topK } = request
  using g = new Graph(runtime)
  const logits = g.leaf(sliceOf(call.slots.logits, [M, rows.count]))
  const gather = M === 0 ? null : { ids: idsLeaf(g, call, { request, rows }), logits }
  const stats = await statsOf(g, call, { hidden: call.hidden, rows, topK, gather })
  for (let row = 0; row < rows.count; row += 1) {
    scores.logZ[rows.first + row] = stats.logZ[row] ?? NaN
  }
  if (M > 0) {
    const values = runtime.read(logits, new Float32Array(rows.count * M))
    values.forEach((value, i) => {
      scores.gathered[rows.first * M + i] = value - (stats.logZ[Math.floor(i / M)] ?? NaN)
    })
  }
  for (let row = 0; row < rows.count; row += 1) {
    const best = mergeTop(stats.values, { row, topK, rows: rows.count })
    const at = (rows.first + row) * topK
    best.forEach(({ id, value }, k) => {
      scores.topIds[at + k] = id
      scores.topLogProbs[at + k] = value - (stats.logZ[row] ?? NaN)
    })
  }
}

interface Stats {
  readonly logZ: Float64Array
  /** [slices, rows, 2 + 2K]. */
  readonly values: Float32Array
}

async function statsOf(
  g: Graph,
  call: NativeHead,
  at: {
    readonly hidden: Slot
    readonly rows: Rows
    readonly topK: number
    readonly gather: { readonly ids: Tensor; readonly logits: Tensor } | null
  },
): Promise<Stats> {
  const { rows, topK } = at
  const hidden = g.leaf(rowsOf(at.hidden, rows.first, rows.count))
  const { temperature, head } = call
  const size = 2 + 2 * topK
  const place = {
    ...plain(call.slots.stats),
    shape: [size, rows.count, ops.headSlices, 1],
  } as const
  const stats = ops.headStats(g, call, {
    ...{ panels: head.panels, hidden, temperature, topK, gather: at.gather },
  })
  g.into(place, stats)
  await g.run(call.work.allocator, call.work.pacer)
  const count = size * rows.count * ops.headSlices
  const values = call.work.runtime.read(stats, new Float32Array(count))
  return { values, logZ: logZOf(values, { size, rows: rows.count }) }
}

/** From each slice's maximum m and sum s: log Σ s exp(m). */
function logZOf(
  values: Float32Array,
  { size, rows }: { readonly size: number; readonly rows: number },
): Float64Array {
  return Float64Array.from({ length: rows }, (_, row) => {
    const at = (slice: number, i: number): number => values[(slice * rows + row) * size + i] ?? NaN
    let most = -Infinity
    for (let slice = 0; slice < ops.headSlices; slice += 1) most = Math.max(most, at(slice, 0))
    let sum = 0
    for (let slice = 0; slice < ops.headSlices; slice += 1) {
      // A slice without tokens has no maximum.
      if (at(slice, 0) !== -Infinity) sum += at(slice, 1) * Math.exp(at(slice, 0) - most)
    }
    return most + Math.log(sum)
  })
}

function idsLeaf(
  g: Graph,
  call: NativeHead,
  { request, rows }: { readonly request: GatherRequest; readonly rows: Rows },
): Tensor {
  const { ids, idsPerRow: M } = request
  const leaf = g.leaf(sliceOf(call.slots.ids, [M, rows.count]))
  call.work.runtime.write(leaf, ids.subarray(rows.first * M, (rows.first + rows.count) * M))
  return leaf
}

/** d loss / d hidden to `output` [C, R], from d loss / d log-probability [R, M]. */
export async function nativeScoresBackward(
  call: NativeHead,
  request: GatherRequest,
  at: {
    readonly gradient: Float32Array
    readonly logZ: Float64Array
    readonly output: Slot
  },
): Promise<void> {
  const { runtime } = call.work
  const M = request.idsPerRow
  for (const rows of chunksOf(call)) {
    using g = new Graph(runtime)
    const gradients = new Float32Array(rows.count * M)
    const factors = new Float32Array(rows.count * 2)
    for (let row = 0; row < rows.count; row += 1) {
      let sum = 0
      for (let m = 0; m < M; m += 1) {
        const value = (at.gradient[(rows.first + row) * M + m] ?? NaN) / call.temperature
        gradients[row * M + m] = value
        sum += value
      }
      factors[2 * row] = at.logZ[rows.first + row] ?? NaN
      factors[2 * row + 1] = -sum
    }
    const parts = ops.headBack(g, call, {
      panels: call.head.panels,
      turned: turnedOf(call),
      hidden: g.leaf(rowsOf(call.hidden, rows.first, rows.count)),
      temperature: call.temperature,
      factors: written(g, sliceOf(call.slots.factors, [2, rows.count]), factors),
      ids: idsLeaf(g, call, { request, rows }),
      gradients: written(g, sliceOf(call.slots.gradients, [M, rows.count]), gradients),
    })
    addParts(g, call, { parts, rows, output: at.output })
    await g.run(call.work.allocator, call.work.pacer)
  }
}

/** KL(base ‖ θ) of each position in nats, [R]; with `backward` its gradient too. */
export async function nativeKl(
  call: NativeHead,
  baseHidden: Slot,
  backward: { readonly factor: number; readonly output: Slot } | null,
): Promise<Float32Array> {
  const values = new Float32Array(call.hidden.shape[1])
  for (const rows of chunksOf(call)) {
    values.set(await klRows(call, { baseHidden, backward, rows }), rows.first)
  }
  return values
}

async function klRows(
  call: NativeHead,
  at: {
    readonly baseHidden: Slot
    readonly backward: { readonly factor: number; readonly output: Slot } | null
    readonly rows: Rows
  },
): Promise<Float32Array> {
  const { rows, backward } = at
  const logZ = async (hidden: Slot): Promise<Float64Array> => {
    using g = new Graph(call.work.runtime)
    return (await statsOf(g, call, { hidden, rows, topK: 0, gather: null })).logZ
  }
  const [base, policy] = [await logZ(at.baseHidden), await logZ(call.hidden)]
  const factor = (backward?.factor ?? 0) / call.temperature
  const factors = new Float32Array(rows.count * 3)
  base.forEach((value, row) => {
    factors.set([value, policy[row] ?? NaN, factor], 3 * row)
  })
  using g = new Graph(call.work.runtime)
  const places = { ...plain(call.slots.parts), shape: [rows.count, ops.headSlices, 1, 1] } as const
  const values = g.leaf(places)
  const parts = ops.headKlParts(g, call, {
    panels: call.head.panels,
    turned: backward === null ? null : turnedOf(call),
    baseHidden: g.leaf(rowsOf(at.baseHidden, rows.first, rows.count)),
    hidden: g.leaf(rowsOf(call.hidden, rows.first, rows.count)),
    temperature: call.temperature,
    factors: written(g, sliceOf(call.slots.factors, [3, rows.count]), factors),
    parts: values,
  })
  if (backward !== null) addParts(g, call, { parts, rows, output: backward.output })
  await g.run(call.work.allocator, call.work.pacer)
  const found = call.work.runtime.read(values, new Float32Array(rows.count * ops.headSlices))
  return Float32Array.from({ length: rows.count }, (_, row) => {
    let sum = 0
    for (let slice = 0; slice < ops.headSlices; slice += 1) {
      sum += found[slice * rows.count + row] ?? NaN
    }
    // Rounding can leave −1e-7 where the distributions are equal; a KL is never negative.
    return Math.max(0, sum)
  })
}

function addParts(
  g: Graph,
  call: NativeHead,
  at: { readonly parts: Tensor; readonly rows: Rows; readonly output: Slot },
): void {
  const { rows } = at
  if (call.slots.dHidden === null) throw new Error('the plan has no room for a backward pass')
  const C = at.output.shape[0]
  const place = { ...plain(call.slots.dHidden), shape: [C, rows.count, ops.headSlices, 1] } as const
  g.into(place, at.parts)
  g.into(rowsOf(at.output, rows.first, rows.count), ops.sumSlices(g, call, at.parts))
}

function turnedOf({ head }: NativeHead): Panels {
  if (head.transposed === null) throw new Error('the transposed head was not made')
  return head.transposed
}

function written(g: Graph, slot: Slot, values: Float32Array): Tensor {
  const leaf = g.leaf(slot)
  g.runtime.write(leaf, values)
  return leaf
}

/** A slot's getters as plain values, so that it can be spread. */
function plain({ buffer, offset, shape, type }: Slot): Slot {
  return { buffer, offset, shape, type }
}
