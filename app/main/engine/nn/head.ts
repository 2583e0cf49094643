// The LM head at the response positions only, a few rows at a time so that the [V, rows] matrices stay bounded:
// log-probabilities over the full vocabulary, the likeliest tokens, and the gradients of two losses:
//   gathered   d logits = (scatter(g) − softmax · Σ g) / T
//   KL(p ‖ q)  d logits_q = (q − p) · factor / T        with p from the base's stored hidden states.
// log Z of a row = its largest logit − log of that token's probability, which keeps full f32 precision.
import { Graph, ops, type Slot, type Tensor } from '../ffi/index.ts'
import type { GatherRequest, HeadScores } from './executor.ts'
import { rowsOf } from './ops/places.ts'
import { topOfRows } from './top-k.ts'
import type { ModelWeights, Work } from './weights.ts'

export interface HeadCall {
  readonly work: Work
  readonly weights: ModelWeights
  /** [C, R]. */
  readonly hidden: Slot
  readonly temperature: number
  readonly scratch: HeadScratch
}

/** Memory of one chunk of rows. */
export interface HeadScratch {
  readonly rows: number
  readonly logits: Slot // [V, rows]
  readonly ids: Slot // i32 [M, rows]
  readonly factors: Slot // [M + 1, rows]: d loss / d log-probability, then −Σ
}

/** Rows computed together: 32 rows of 49,152 logits are 6 MiB, and their gradient 50 ms on one core. */
export function headRows(vocabulary: number): number {
  return Math.max(1, Math.min(32, Math.floor(2 ** 21 / vocabulary)))
}

export async function headScores(call: HeadCall, request: GatherRequest): Promise<HeadScores> {
  const R = call.hidden.shape[1]
  const { idsPerRow: M, topK: K } = request
  const scores = {
    gathered: new Float32Array(R * M),
    topIds: new Int32Array(R * K),
    topLogProbs: new Float32Array(R * K),
  }
  for (let first = 0; first < R; first += call.scratch.rows) {
    const rows = { first, count: Math.min(call.scratch.rows, R - first) }
    await scoreRows(call, request, { scores, rows })
  }
  return scores
}

interface Rows {
  readonly first: number
  readonly count: number
}

async function scoreRows(
  call: HeadCall,
  request: GatherRequest,
  { scores, rows }: { readonly scores: HeadScores; readonly rows: Rows },
): Promise<void> {
  using g = new Graph(call.work.runtime)
  const { runtime } = call.work
  const logits = scaledLogits(g, call, { hidden: call.hidden, rows, keep: true })
  const top = likeliest(g, logits)
  const { idsPerRow: M, topK: K } = request
  const picked = M === 0 ? null : gatherLogits(g, call, { logits, request, rows })
  await g.run(call.work.allocator, call.work.pacer)
  const logZ = readLogZ(call, top, rows.count)
  if (picked !== null) {
    const values = runtime.read(picked, new Float32Array(rows.count * M))
    values.forEach((value, i) => {
      scores.gathered[rows.first * M + i] = value - (logZ[Math.floor(i / M)] ?? NaN)
    })
  }
  if (K === 0) return
  const all = runtime.read(logits, new Float32Array(logits.shape[0] * rows.count))
  const best = topOfRows(all, { rows: rows.count, columns: logits.shape[0], count: K })
  best.ids.forEach((id, i) => {
    const at = rows.first * K + i
    scores.topIds[at] = id
    scores.topLogProbs[at] = (best.values[i] ?? NaN) - (logZ[Math.floor(i / K)] ?? NaN)
  })
}

/** Logits divided by the temperature, [V, rows]; to be read after the run where `keep` is set. */
function scaledLogits(
  g: Graph,
  call: HeadCall,
  at: { readonly hidden: Slot; readonly rows: Rows; readonly keep: boolean },
): Tensor {
  const { hidden, rows } = at
  const states = ops.viewRows(g, g.leaf(hidden), [rows.first, rows.count])
  const raw = headProduct(g, call, states)
  const scaled = call.temperature === 1 ? raw : ops.scale(g, raw, 1 / call.temperature)
  return at.keep ? g.into(rowsOf(call.scratch.logits, 0, rows.count), scaled) : scaled
}

/** [C, rows] → [V, rows]. */
function headProduct(g: Graph, { weights }: HeadCall, states: Tensor): Tensor {
  return ops.mulMat(g, g.leaf(weights.head), states)
}

interface Likeliest {
  readonly logit: Tensor // [1, 1, rows]
  readonly probability: Tensor // [1, 1, rows]
  readonly probabilities: Tensor // [V, rows]
}

function likeliest(g: Graph, logits: Tensor): Likeliest {
  const [V, rows] = logits.shape
  const ids = ops.reshape(g, ops.argmax(g, logits), 1, rows) // i32 [1, rows]
  const probabilities = ops.softMax(g, logits, 1)
  const byRow = (x: Tensor): Tensor => ops.reshape(g, x, 1, V, rows)
  return {
    logit: g.keep(ops.getRows(g, byRow(logits), ids)),
    probability: g.keep(ops.getRows(g, byRow(probabilities), ids)),
    probabilities,
  }
}

function readLogZ(call: HeadCall, top: Likeliest, rows: number): Float64Array {
  const { runtime } = call.work
  const logit = runtime.read(top.logit, new Float32Array(rows))
  const probability = runtime.read(top.probability, new Float32Array(rows))
  return Float64Array.from(logit, (value, row) => value - Math.log(probability[row] ?? NaN))
}

function gatherLogits(
  g: Graph,
  call: HeadCall,
  at: {
    readonly logits: Tensor
    readonly request: { readonly ids: Int32Array; readonly idsPerRow: number }
    readonly rows: Rows
  },
): Tensor {
  const { rows, logits } = at
  const M = at.request.idsPerRow
  const ids = idsLeaf(g, call, { ids: at.request.ids, M, rows })
  const byRow = ops.reshape(g, logits, 1, logits.shape[0], rows.count)
  return g.keep(ops.getRows(g, byRow, ids)) // [1, M, rows]
}

/** The rows' ids as a tensor, i32 [M, rows]. */
function idsLeaf(
  g: Graph,
  call: HeadCall,
  at: { readonly ids: Int32Array; readonly M: number; readonly rows: Rows },
): Tensor {
  const { M, rows } = at
  const slot = { ...planned(call.scratch.ids), shape: [M, rows.count, 1, 1] as const }
  const leaf = g.leaf(slot)
  call.work.runtime.write(leaf, at.ids.subarray(rows.first * M, (rows.first + rows.count) * M))
  return leaf
}

/** A slot's getters as plain values, so that it can be spread. */
function planned(slot: Slot): Slot {
  return { buffer: slot.buffer, offset: slot.offset, shape: slot.shape, type: slot.type }
}

export interface GatheredGradient {
  readonly ids: Int32Array // [R, M]
  readonly idsPerRow: number
  /** d loss / d log-probability, [R, M]. */
  readonly gradient: Float32Array
  /** Where d loss / d hidden goes, [C, R]. */
  readonly output: Slot
}

export async function gatheredBackward(call: HeadCall, at: GatheredGradient): Promise<void> {
  const R = call.hidden.shape[1]
  for (let first = 0; first < R; first += call.scratch.rows) {
    const rows = { first, count: Math.min(call.scratch.rows, R - first) }
    using g = new Graph(call.work.runtime)
    const logits = scaledLogits(g, call, { hidden: call.hidden, rows, keep: false })
    const probabilities = ops.softMax(g, logits, 1) // [V, rows]
    const factors = factorsLeaf(g, call, { ...at, rows }) // [M + 1, rows]
    const M = at.idsPerRow
    const sums = ops.viewColumns(g, factors, [M, 1]) // [1, rows]
    const dense = timesHead(g, call, probabilities) // [C, rows]
    const ids = ops.reshape(g, idsLeaf(g, call, { ids: at.ids, M, rows }), M * rows.count)
    const C = dense.shape[0]
    const states = ops.reshape(g, ops.getRows(g, g.leaf(call.weights.head), ids), C, M, rows.count)
    const weights = ops.view(g, factors, { shape: [1, M, rows.count], strides: [1, M + 1] })
    const sparse = ops.reshape(g, ops.outProd(g, states, weights), C, rows.count) // [C, rows]
    const dHidden = ops.add(g, ops.mul(g, dense, ops.contiguous(g, sums)), sparse)
    g.into(rowsOf(at.output, rows.first, rows.count), dHidden)
    await g.run(call.work.allocator, call.work.pacer)
  }
}

/** Per row the gradient over T at each id, then minus their sum. */
function factorsLeaf(g: Graph, call: HeadCall, at: GatheredGradient & { rows: Rows }): Tensor {
  const { rows, idsPerRow: M } = at
  const values = new Float32Array(rows.count * (M + 1))
  for (let row = 0; row < rows.count; row += 1) {
    let sum = 0
    for (let m = 0; m < M; m += 1) {
      const factor = (at.gradient[(rows.first + row) * M + m] ?? 0) / call.temperature
      values[row * (M + 1) + m] = factor
      sum += factor
    }
    values[row * (M + 1) + M] = -sum
  }
  const leaf = g.leaf({ ...planned(call.scratch.factors), shape: [M + 1, rows.count, 1, 1] })
  call.work.runtime.write(leaf, values)
  return leaf
}

/**
 * Σ_v x[v] · head[v], [V, rows] → [C, rows]. An outer product over the stored head: a transposed copy would
 * be 1.3 times as fast here and cost 108 MiB at 135M.
 */
function timesHead(g: Graph, call: HeadCall, x: Tensor): Tensor {
  return ops.outProd(g, g.leaf(call.weights.head), ops.permute(g, x, [1, 0, 2, 3]))
}

export interface KlCall {
  readonly baseHidden: Slot // [C, R]
  /** Null = values only. Else d (factor · Σ_r KL_r) / d hidden goes to `output`, [C, R]. */
  readonly backward: { readonly factor: number; readonly output: Slot } | null
}

/** KL(base ‖ θ) of each response position in nats, [R]. */
export async function headKl(call: HeadCall, kl: KlCall): Promise<Float32Array> {
  const R = call.hidden.shape[1]
  const values = new Float32Array(R)
  for (let first = 0; first < R; first += call.scratch.rows) {
    const rows = { first, count: Math.min(call.scratch.rows, R - first) }
    values.set(await klRows(call, kl, rows), first)
  }
  return values
}

/** KL = Σ p (l_p − l_q) − (log Z_p − log Z_q), the l being logits over T. */
async function klRows(call: HeadCall, kl: KlCall, rows: Rows): Promise<Float32Array> {
  using g = new Graph(call.work.runtime)
  const base = scaledLogits(g, call, { hidden: kl.baseHidden, rows, keep: false })
  const policy = scaledLogits(g, call, { hidden: call.hidden, rows, keep: false })
  const p = likeliest(g, base)
  const q = likeliest(g, policy)
  const gap = ops.sub(g, base, policy) // [V, rows]
  const expected = g.keep(ops.sumRows(g, ops.mul(g, p.probabilities, gap))) // [1, rows]
  if (kl.backward !== null) {
    const difference = ops.sub(g, q.probabilities, p.probabilities) // [V, rows]
    const dHidden = timesHead(g, call, difference) // [C, rows]
    const scaled = ops.scale(g, dHidden, kl.backward.factor / call.temperature)
    g.into(rowsOf(kl.backward.output, rows.first, rows.count), scaled)
  }
  await g.run(call.work.allocator, call.work.pacer)
  const gaps = call.work.runtime.read(expected, new Float32Array(rows.count))
  const logZp = readLogZ(call, p, rows.count)
  const logZq = readLogZ(call, q, rows.count)
  // Rounding can leave −1e-7 where the distributions are equal; a KL is never negative.
  return gaps.map((value, row) => Math.max(0, value - ((logZp[row] ?? NaN) - (logZq[row] ?? NaN))))
}
