// The frozen weights in native memory: as f32 for ggml, or packed where our kernels run, laid out for linear.ts:
// projections grouped by input, with room for the adapter's columns. Norms and biases stay f32. Transposed copies
// for the backward pass are made when first needed.
// For dX of the projections the copies are worth their memory: ggml's product of one with a gradient runs at 45
// GFLOP/s on one busy core, ggml_out_prod over the stored weights at 23 to 25. For the head they are not.
import { Graph, dequantise, ops } from '../ffi/index.ts'
import type { Allocator, Arena, Kernels, Pacer, Panels, Runtime, Slot } from '../ffi/index.ts'
import type { GgufFile, GgufTensorInfo } from '../gguf/reader.ts'
import type { ByteSource } from '../gguf/source.ts'
import type { Projection } from '../types.ts'
import type { ModelConfig } from './config.ts'
import type { LinearGroup, PlainFactors } from './ops/linear.ts'
import type { PackedFactors } from './ops/packed-linear.ts'
import {
  biasedProjections,
  biasName,
  frequencyFactorsName,
  normNames,
  normWidth,
  projectionName,
  projectionShape,
  tensorOf,
} from './tensors.ts'
import { TokenRows } from './token-rows.ts'

/** A norm's weights, [C] or [D]; null where the architecture has no such norm. */
export interface LayerNorms {
  readonly attentionNorm: Slot
  readonly feedForwardNorm: Slot
  readonly queryNorm: Slot | null
  readonly keyNorm: Slot | null
  readonly attentionPostNorm: Slot | null
  readonly feedForwardPostNorm: Slot | null
}

export interface LayerWeights extends LayerNorms {
  readonly qkv: LinearGroup
  readonly output: LinearGroup
  readonly gateUp: LinearGroup
  readonly down: LinearGroup
}

export interface ModelWeights {
  readonly layers: readonly LayerWeights[]
  readonly outputNorm: Slot
  /** Divisors of the rotary frequencies, [D / 2]; null where the file has none. */
  readonly frequencyFactors: Slot | null
  readonly tables: PlainTables | PackedTables
  readonly paddedRank: number
}

/** Embeddings and head for ggml. */
export interface PlainTables {
  readonly kind: 'plain'
  /** [C, V]. */
  readonly embedding: Slot
  /** [C, V]; the embedding itself where the head is tied. */
  readonly head: Slot
}

/** Embeddings and head for our kernels. */
export interface PackedTables {
  readonly kind: 'packed'
  readonly kernels: Kernels
  /** Null until the file was read. */
  readonly embedding: TokenRows | null
  /** [V, C]. */
  readonly panels: Panels
  /** [C, V]; null until a gradient is first asked for. */
  readonly transposed: Panels | null
}

export function plainTables({ tables }: ModelWeights): PlainTables {
  if (tables.kind !== 'plain') throw new Error('the weights are packed for our kernels')
  return tables
}

export type GroupName = 'qkv' | 'output' | 'gateUp' | 'down'

const groupMembers: Record<GroupName, readonly Projection[]> = {
  qkv: ['attn_q', 'attn_k', 'attn_v'],
  output: ['attn_output'],
  gateUp: ['ffn_gate', 'ffn_up'],
  down: ['ffn_down'],
}

export const groupNames: readonly GroupName[] = ['qkv', 'output', 'gateUp', 'down']

export function groupsOf(layer: LayerWeights): readonly LinearGroup[] {
  return [layer.qkv, layer.output, layer.gateUp, layer.down]
}

export interface WeightOptions {
  readonly paddedRank: number
  /** Null = f32 weights for ggml. */
  readonly kernels: Kernels | null
}

/** Plans the places of all weights in an arena. */
export function planWeights(arena: Arena, info: ModelConfig, options: WeightOptions): ModelWeights {
  const { paddedRank } = options
  const tables = planTables(arena, info, options.kernels)
  const layers = Array.from({ length: info.layers }, (_, layer) => {
    const group = (name: GroupName): LinearGroup =>
      planGroup(arena, info, { ...options, layer, name })
    return {
      ...planNorms(arena, info),
      qkv: group('qkv'),
      output: group('output'),
      gateUp: group('gateUp'),
      down: group('down'),
    }
  })
  const outputNorm = arena.plan([info.width])
  const frequencyFactors = info.hasFrequencyFactors ? arena.plan([info.headSize / 2]) : null
  return { layers, outputNorm, frequencyFactors, tables, paddedRank }
}

function planTables(
  arena: Arena,
  info: ModelConfig,
  kernels: Kernels | null,
): PlainTables | PackedTables {
  const { width, vocabulary } = info
  if (kernels === null) {
    const embedding = arena.plan([width, vocabulary])
    const head = info.tiedHead ? embedding : arena.plan([width, vocabulary])
    return { kind: 'plain', embedding, head }
  }
  const panels = kernels.plan(arena, [vocabulary, width])
  return { kind: 'packed', kernels, embedding: null, panels, transposed: null }
}

type NormName = keyof LayerNorms

function normEntries(config: ModelConfig): [NormName, string | null][] {
  return Object.entries(normNames(config)) as [NormName, string | null][]
}

function planNorms(arena: Arena, config: ModelConfig): LayerNorms {
  const slots = normEntries(config).map(([norm, name]) => {
    return [norm, name === null ? null : arena.plan([normWidth(config, norm)])] as const
  })
  return Object.fromEntries(slots) as unknown as LayerNorms
}

function planGroup(
  arena: Arena,
  info: ModelConfig,
  place: WeightOptions & { readonly layer: number; readonly name: GroupName },
): LinearGroup {
  const { paddedRank, kernels } = place
  const names = groupMembers[place.name]
  const shapes = names.map((projection) => projectionShape(info, projection))
  const inFeatures = shapes[0]?.[0] ?? 0
  const outFeatures = shapes.reduce((sum, [, out]) => sum + out, 0)
  const biased = biasedProjections(info)
  const members = names.map((projection, m) => ({
    name: projectionName(place.layer, projection),
    biasName: biased.includes(projection) ? biasName(place.layer, projection) : null,
    outFeatures: shapes[m]?.[1] ?? 0,
  }))
  // A group's members have biases all or none.
  const bias = members.every((member) => member.biasName !== null)
    ? arena.plan([outFeatures])
    : null
  const group = { inFeatures, outFeatures, paddedRank, members, bias }
  const rank = paddedRank * names.length
  if (kernels !== null) {
    return { ...group, factors: planPacked(arena, kernels, { inFeatures, outFeatures, rank }) }
  }
  const factors = {
    kind: 'plain',
    weight: arena.plan([inFeatures + rank, outFeatures]),
    transposed: null,
    a: arena.plan([inFeatures, rank]),
    bT: members.map((member) => arena.plan([member.outFeatures, paddedRank])),
  } as const
  return { ...group, factors }
}

function planPacked(
  arena: Arena,
  kernels: Kernels,
  size: { readonly inFeatures: number; readonly outFeatures: number; readonly rank: number },
): PackedFactors {
  const { inFeatures, outFeatures, rank } = size
  return {
    kind: 'packed',
    kernels,
    weight: kernels.plan(arena, [outFeatures, inFeatures]),
    transposed: null,
    a: kernels.plan(arena, [rank, inFeatures]),
    aT: kernels.plan(arena, [inFeatures, rank]),
    b: kernels.plan(arena, [outFeatures, rank]),
    bT: kernels.plan(arena, [rank, outFeatures]),
  }
}

/** Plans the transposed copies in an arena of their own. */
export function planTransposed(arena: Arena, weights: ModelWeights): ModelWeights {
  const transpose = (group: LinearGroup): LinearGroup => {
    const { inFeatures, outFeatures, factors } = group
    if (factors.kind === 'packed') {
      const transposed = factors.kernels.plan(arena, [inFeatures, outFeatures])
      return { ...group, factors: { ...factors, transposed } }
    }
    const rank = group.paddedRank * group.members.length
    const transposed = arena.plan([outFeatures + rank, inFeatures])
    return { ...group, factors: { ...factors, transposed } }
  }
  return {
    ...weights,
    tables: transposedTables(arena, weights.tables),
    layers: weights.layers.map((layer) => ({
      ...layer,
      qkv: transpose(layer.qkv),
      output: transpose(layer.output),
      gateUp: transpose(layer.gateUp),
      down: transpose(layer.down),
    })),
  }
}

function transposedTables(arena: Arena, tables: ModelWeights['tables']): ModelWeights['tables'] {
  if (tables.kind === 'plain') return tables
  const { rows, columns } = tables.panels
  return { ...tables, transposed: tables.kernels.plan(arena, [columns, rows]) }
}

export interface Source {
  readonly file: GgufFile
  readonly bytes: ByteSource
  readonly config: ModelConfig
}

/** Values converted at once: bounds the JavaScript memory of loading to a few MiB. */
const chunkValues = 2 ** 20

/** Reads all weights from the file; an adapter's places are filled by adapter.ts. */
export function loadWeights(runtime: Runtime, source: Source, weights: ModelWeights): ModelWeights {
  const load = (name: string, target: RowTarget): void =>
    loadTensor(runtime, source, { info: tensorOf(source.file, name), target })
  const plain = (slot: Slot, firstRow = 0): RowTarget => plainTarget(runtime, slot, firstRow)
  const tables = loadTables(runtime, source, weights.tables)
  load('output_norm.weight', plain(weights.outputNorm))
  const { frequencyFactors } = weights
  if (frequencyFactors !== null) load(frequencyFactorsName, plain(frequencyFactors))
  weights.layers.forEach((layer, index) => {
    for (const [norm, name] of normEntries(source.config)) {
      const slot = layer[norm]
      if (name !== null && slot !== null) load(`blk.${index}.${name}.weight`, plain(slot))
    }
    for (const group of groupsOf(layer)) loadGroup(runtime, group, load)
  })
  return { ...weights, tables }
}

function loadTables(
  runtime: Runtime,
  source: Source,
  tables: ModelWeights['tables'],
): ModelWeights['tables'] {
  const embedding = tensorOf(source.file, 'token_embd.weight')
  const head = source.config.tiedHead ? embedding : tensorOf(source.file, 'output.weight')
  if (tables.kind === 'packed') {
    const target = packedTarget(tables.kernels, tables.panels, 0)
    loadTensor(runtime, source, { info: head, target })
    return { ...tables, embedding: new TokenRows(runtime, source.bytes, embedding) }
  }
  const own = plainTarget(runtime, tables.embedding, 0)
  loadTensor(runtime, source, { info: embedding, target: own })
  if (tables.head !== tables.embedding) {
    loadTensor(runtime, source, { info: head, target: plainTarget(runtime, tables.head, 0) })
  }
  return tables
}

/** Weights and biases of a group's members, one below the other. */
function loadGroup(
  runtime: Runtime,
  { factors, members, bias }: LinearGroup,
  load: (name: string, target: RowTarget) => void,
): void {
  let firstRow = 0
  for (const { name, biasName, outFeatures } of members) {
    const target =
      factors.kind === 'packed'
        ? packedTarget(factors.kernels, factors.weight, firstRow)
        : plainTarget(runtime, factors.weight, firstRow)
    load(name, target)
    if (bias !== null && biasName !== null) load(biasName, vectorTarget(runtime, bias, firstRow))
    firstRow += outFeatures
  }
}

/** Takes rows of a tensor, `columns` values each, the first being row `row` of the tensor. */
type RowTarget = (values: Float32Array, columns: number, row: number) => void

/** Rows of an f32 tensor; wider rows are filled with zeros. */
function plainTarget(runtime: Runtime, slot: Slot, firstRow: number): RowTarget {
  const stride = slot.shape[0]
  return (values, columns, row) => {
    using graph = new Graph(runtime)
    runtime.write(graph.leaf(slot), widen(values, columns, stride), (firstRow + row) * stride)
  }
}

/** A vector's numbers from `first` on. */
function vectorTarget(runtime: Runtime, slot: Slot, first: number): RowTarget {
  return (values) => {
    using graph = new Graph(runtime)
    runtime.write(graph.leaf(slot), values, first)
  }
}

function packedTarget(kernels: Kernels, panels: Panels, firstRow: number): RowTarget {
  return (values, _columns, row) => kernels.pack(panels, values, firstRow + row)
}

/** Converts a tensor's rows piece by piece. */
function loadTensor(
  runtime: Runtime,
  source: Source,
  to: { readonly info: GgufTensorInfo; readonly target: RowTarget },
): void {
  const columns = to.info.shape[0] ?? 1
  const rows = to.info.elements / columns
  const step = Math.max(1, Math.floor(chunkValues / columns))
  const rowBytes = to.info.sizeBytes / rows
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row)
    const bytes = source.bytes.read(to.info.offset + row * rowBytes, count * rowBytes)
    const values = new Float32Array(count * columns)
    dequantise(runtime, { type: to.info.type, bytes }, values)
    to.target(values, columns, row)
  }
}

function widen(values: Float32Array, columns: number, stride: number): Float32Array {
  if (stride === columns) return values
  const rows = values.length / columns
  const wide = new Float32Array(rows * stride)
  for (let row = 0; row < rows; row += 1) {
    wide.set(values.subarray(row * columns, (row + 1) * columns), row * stride)
  }
  return wide
}

export interface Work {
  readonly runtime: Runtime
  readonly allocator: Allocator
  readonly pacer: Pacer
}

/** Fills the transposed copies; the adapter's columns are written by adapter.ts. */
export async function fillTransposed(work: Work, weights: ModelWeights): Promise<void> {
  const { tables } = weights
  if (tables.kind === 'packed') await packTransposed(work, tables.kernels, tables)
  for (const layer of weights.layers) {
    using g = new Graph(work.runtime)
    for (const group of groupsOf(layer)) {
      const { factors } = group
      if (factors.kind === 'plain') transposeInto(g, group, factors)
      else {
        const { kernels, weight: panels, transposed } = factors
        await packTransposed(work, kernels, { panels, transposed })
      }
    }
    await g.run(work.allocator, work.pacer)
  }
}

async function packTransposed(
  work: Work,
  kernels: Kernels,
  { panels, transposed }: Pick<PackedTables, 'panels' | 'transposed'>,
): Promise<void> {
  if (transposed === null) throw new Error('no place for the transposed weights')
  for (const _piece of kernels.transpose(panels, transposed)) {
    // Each piece may be followed by a pause: its time is that of a third of a segment.
    await work.pacer.before(work.pacer.budget / 3)
  }
}

function transposeInto(g: Graph, group: LinearGroup, factors: PlainFactors): void {
  if (factors.transposed === null) throw new Error('no place for the transposed weights')
  const { inFeatures, outFeatures } = group
  const from = g.leaf(factors.weight)
  const to = g.leaf(factors.transposed)
  // Pieces of rows keep one copy well under the time of a segment.
  const step = Math.max(16, Math.floor(2 ** 21 / inFeatures))
  for (let row = 0; row < outFeatures; row += step) {
    const count = Math.min(step, outFeatures - row)
    const piece = ops.view(g, from, { shape: [inFeatures, count], offset: row * from.shape[0] })
    const place = ops.view(g, to, { shape: [count, inFeatures], offset: row })
    ops.copyInto(g, ops.permute(g, piece, [1, 0, 2, 3]), place)
  }
}
