// The LM head: vocabularies that leave slices empty or partial, ids at every edge, ties among the largest.
import { mergeTop } from '../../../app/main/engine/nn/top-k.ts'
import { ops } from '../../../app/main/engine/ffi/index.ts'
import { randomTensor } from '../numerics.ts'
import type { KernelCase, Results, Values } from './bench.ts'
import { randomValues } from './linear-cases.ts'
import { needed } from './needed.ts'
import { at, byRow, type Numbers } from './plain.ts'
import { headBack, headKl, logProbs, type HeadShape } from './plain-heads.ts'

interface HeadSize extends HeadShape {
  /** Ids per position; 0 = none. */
  readonly M: number
  readonly topK?: number
}

const label = (size: HeadSize): string =>
  Object.entries(size)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')

const scratchOf = ({ C }: HeadSize) => ({ tokens: 1, headSize: 16, width: C })

/** Logits of a size of about one, however many channels there are. */
const scaleOf = ({ C }: HeadSize): number => Math.sqrt(9 / C)

/** The first and last token of every slice that an instruction set's panels could give, and of blocks of 256. */
function edgesOf(V: number): number[] {
  const found = new Set([0, V - 1])
  for (const rows of [8, 16, 32]) {
    const panels = Math.ceil(V / rows)
    for (let slice = 1; slice < ops.headSlices; slice += 1) {
      const first = Math.floor((panels * slice) / ops.headSlices) * rows
      for (const id of [first - 1, first, first + 255, first + 256]) found.add(id)
    }
  }
  return [...found].filter((id) => id >= 0 && id < V).sort((a, b) => a - b)
}

/** [M, R]: edges one after another, and each position's first id twice. */
function idsOf({ M, R, V }: HeadSize): Int32Array {
  const edges = edgesOf(V)
  return Int32Array.from({ length: M * R }, (_, i) => {
    const [row, m] = [Math.floor(i / M), i % M]
    return at(edges, (row * M + (m === 1 ? 0 : m)) % edges.length)
  })
}

/** Rows 1, V / 2 and V − 1 are one and the same, so that their logits are equal. */
function headValues(size: HeadSize): { readonly w: Float32Array; readonly hidden: Float32Array } {
  const { C, V, R } = size
  const w = randomTensor(`${label(size)}/w`, C * V, { scale: scaleOf(size) })
  for (const row of [Math.floor(V / 2), V - 1]) w.copyWithin(row * C, C, 2 * C)
  const hidden = randomTensor(`${label(size)}/hidden`, C * R, { scale: 1 })
  // At the first position they are the largest: 3 w · w is about 9.
  hidden.set(w.subarray(C, 2 * C).map((value) => 3 * value))
  return { w, hidden }
}

function statsCase(size: HeadSize): KernelCase {
  const { C, V, R, M, topK = 0, temperature } = size
  const ids = { shape: [M, R], values: idsOf(size) }
  return {
    operator: 'head_stats',
    name: label(size),
    parameters: { temperature, topK },
    inputs: { hidden: [C, R], ...(M > 0 ? { ids: ids.shape } : {}) },
    matrices: { w: [C, V] },
    result: [2 + 2 * topK, R, ops.headSlices],
    beside: M > 0 ? { gathered: [M, R] } : {},
    scratch: scratchOf(size),
    values: { ...headValues(size), ...(M > 0 ? { ids: ids.values } : {}) },
    build: (g, call, { inputs, panels, beside }) =>
      ops.headStats(g, call, {
        panels: needed(panels['w']),
        hidden: needed(inputs['hidden']),
        temperature,
        topK,
        gather: M === 0 ? null : { ids: needed(inputs['ids']), logits: needed(beside['gathered']) },
      }),
    derive: (results, values) => deriveStats(results, values, size),
    plain: (values) => plainStats(values, size),
    // Two rounded factors, and the logarithm of a sum beside them.
    rounding: { bound: 5e-3, independent: R, givenOnly: true },
    discrete: ['topIds'],
  }
}

function logZOf(y: Float32Array, { R, topK = 0 }: HeadSize): Float64Array {
  const size = 2 + 2 * topK
  return Float64Array.from({ length: R }, (_, r) => {
    const slices = Array.from({ length: ops.headSlices }, (_s, s) => (s * R + r) * size)
    // A slice without tokens has the sum 0 and no maximum.
    const filled = slices.filter((place) => at(y, place + 1) !== 0)
    const most = Math.max(...filled.map((place) => at(y, place)))
    const total = filled.reduce((all, p) => all + at(y, p + 1) * Math.exp(at(y, p) - most), 0)
    return most + Math.log(total)
  })
}

/** Log Z, gathered and largest log-probabilities, and exact log-probabilities of the ids found. */
function deriveStats({ y, gathered }: Results, values: Values, size: HeadSize) {
  const { R, V, M, topK = 0 } = size
  const logZ = logZOf(needed(y), size)
  const top = Array.from({ length: topK === 0 ? 0 : R }, (_, row) =>
    mergeTop(needed(y), { row, rows: R, topK }).map(({ id, value }) => ({ row, id, value })),
  ).flat()
  const exact =
    topK === 0 ? [] : logProbs(needed(values['w']), needed(values['hidden']), size).values
  return {
    logZ,
    ...(M > 0
      ? { gathered: byRow(needed(gathered), M, (row, r) => row.map((l) => l - at(logZ, r))) }
      : {}),
    ...(topK > 0
      ? {
          top: top.map(({ row, value }) => value - at(logZ, row)),
          topIds: top.map(({ id }) => id),
          ofTopIds: top.map(({ row, id }) => at(exact, row * V + id)),
        }
      : {}),
  }
}

function plainStats(values: Values, size: HeadSize): Record<string, Numbers> {
  const { V, R, M, topK = 0 } = size
  const lines = logProbs(needed(values['w']), needed(values['hidden']), size)
  const { ids } = values
  const top = Array.from({ length: R }, (_, row) => {
    const order = Array.from({ length: V }, (_v, id) => ({
      id,
      value: at(lines.values, row * V + id),
    }))
    return order.sort((a, b) => b.value - a.value || a.id - b.id).slice(0, topK)
  }).flat()
  const best = top.map(({ value }) => value)
  return {
    logZ: lines.logZ,
    ...(ids !== undefined
      ? { gathered: Array.from(ids, (id, i) => at(lines.values, Math.floor(i / M) * V + id)) }
      : {}),
    ...(topK > 0 ? { top: best, topIds: top.map(({ id }) => id), ofTopIds: best } : {}),
  }
}

function backCase(size: HeadSize): KernelCase {
  const { C, V, R, M, temperature } = size
  const inputs = { hidden: [C, R], factors: [2, R], ids: [M, R], gradients: [M, R] }
  const { w, hidden } = headValues(size)
  const gradients = needed(randomValues(label(size), { gradients: [M, R] })['gradients'])
  const { logZ } = logProbs(w, hidden, size)
  const factors = Float32Array.from({ length: 2 * R }, (_, i) => {
    const row = Math.floor(i / 2)
    if (i % 2 === 0) return at(logZ, row)
    return -gradients.subarray(row * M, (row + 1) * M).reduce((all, value) => all + value, 0)
  })
  return {
    operator: 'head_back',
    name: label(size),
    parameters: { temperature },
    inputs,
    matrices: { w: [C, V], wᵀ: [V, C] },
    result: [C, R, ops.headSlices],
    scratch: scratchOf(size),
    values: { w, hidden, gradients, factors, ids: idsOf(size) },
    build: (g, call, { inputs: x, panels }) =>
      ops.headBack(g, call, {
        panels: needed(panels['w']),
        turned: needed(panels['wᵀ']),
        hidden: needed(x['hidden']),
        temperature,
        factors: needed(x['factors']),
        ids: needed(x['ids']),
        gradients: needed(x['gradients']),
      }),
    derive: ({ y }) => ({ y: overSlices(needed(y), C * R) }),
    plain: (x) => ({
      y: headBack(
        {
          w: needed(x['w']),
          hidden: needed(x['hidden']),
          factors: needed(x['factors']),
          ids: needed(x['ids']),
          gradients: needed(x['gradients']),
        },
        size,
      ),
    }),
    // Of logits, which e^logit carries on, and again of gradients and weights.
    rounding: { bound: 1e-2, independent: R },
  }
}

function overSlices(y: Float32Array, count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => {
    let all = 0
    for (let slice = 0; slice < ops.headSlices; slice += 1) all += at(y, slice * count + i)
    return all
  })
}

function klCase(size: HeadSize & { readonly valuesOnly?: boolean }): KernelCase {
  const { C, V, R, temperature, valuesOnly = false } = size
  const { w, hidden } = headValues(size)
  const base = randomTensor(`${label(size)}/base`, C * R, { scale: 1 })
  const [p, q] = [logProbs(w, base, size).logZ, logProbs(w, hidden, size).logZ]
  const factors = Float32Array.from({ length: 3 * R }, (_, i) => {
    const row = Math.floor(i / 3)
    return [at(p, row), at(q, row), 0.7 - row / R][i % 3] ?? NaN
  })
  return {
    operator: 'head_kl',
    name: label(size),
    parameters: { temperature, valuesOnly },
    inputs: { base: [C, R], hidden: [C, R], factors: [3, R] },
    matrices: { w: [C, V], ...(valuesOnly ? {} : { wᵀ: [V, C] }) },
    result: [valuesOnly ? 1 : C, R, ops.headSlices],
    beside: { parts: [R, ops.headSlices] },
    scratch: scratchOf(size),
    values: { w, hidden, base, factors },
    build: (g, call, { inputs: x, panels, beside }) =>
      ops.headKlParts(g, call, {
        panels: needed(panels['w']),
        turned: panels['wᵀ'] ?? null,
        baseHidden: needed(x['base']),
        hidden: needed(x['hidden']),
        temperature,
        factors: needed(x['factors']),
        parts: needed(beside['parts']),
      }),
    derive: ({ y, parts }) => ({
      kl: overSlices(needed(parts), R),
      ...(valuesOnly ? {} : { y: overSlices(needed(y), C * R) }),
    }),
    plain: (x) => {
      const [weights, states] = [needed(x['w']), needed(x['hidden'])]
      const given = {
        w: weights,
        hidden: states,
        base: needed(x['base']),
        factors: needed(x['factors']),
      }
      const { kl, gradient } = headKl(given, size)
      return { kl, ...(valuesOnly ? {} : { y: gradient }) }
    },
    // Signs are looked for over `headKlDraws`.
    rounding: { bound: 1e-2, independent: 1 },
  }
}

const sizes: readonly HeadSize[] = [
  { C: 16, V: 5, R: 1, temperature: 1, M: 2 },
  // Less than a panel for each slice: some are empty, one is partial.
  { C: 33, V: 250, R: 7, temperature: 0.8, M: 3 },
  { C: 24, V: 1000, R: 97, temperature: 1.3, M: 5 },
  // More than 256 tokens in a slice, and a last one that fills no panel.
  { C: 20, V: 5003, R: 13, temperature: 0.7, M: 40 },
  // As many positions as one call takes.
  { C: 16, V: 300, R: 288, temperature: 1, M: 1 },
  // More channels than a product packs together.
  { C: 2100, V: 70, R: 5, temperature: 1, M: 2 },
]

export const headStatsCases = [
  ...sizes.map((size) => statsCase({ ...size, topK: Math.min(4, size.V) })),
  statsCase({ C: 33, V: 250, R: 7, temperature: 0.8, M: 0 }),
  statsCase({ C: 20, V: 40, R: 3, temperature: 1, M: 0, topK: 40 }),
]
export const headBackCases = sizes.map(backCase)
/** The same small divergence of other numbers each time: all positions of one share a rounded matrix. */
export const headKlDraws = Array.from({ length: 32 }, (_, draw) =>
  klCase({ C: 24, V: 300 + draw, R: 13, temperature: 1, M: 0 }),
)
export const headKlCases = [
  ...sizes.slice(1).map(klCase),
  klCase({ C: 33, V: 250, R: 7, temperature: 0.8, M: 0, valuesOnly: true }),
]
