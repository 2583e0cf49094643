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
  /** [C, V]. */
  readonly embedding: Slot
  readonly outputNorm: Slot
  /** Divisors of the rotary frequencies, [D / 2]; null where the file has none. */
  readonly frequencyFactors: Slot | null
  /** [C, V]; the embedding itself where the head is tied. */
  readonly head: Slot
  /** The head again, for our kernels; the f32 one then only gives single rows. */
  readonly packedHead: PackedHead | null
  readonly paddedRank: number
}

export interface PackedHead {
  readonly kernels: Kernels
  /** [V, C]. */
  readonly panels: Panels
  /** [C, V]; null until a gradient is first asked for. */
  readonly transposed: Panels | null
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
  const { kernels, paddedRank } = options
  const embedding = arena.plan([info.width, info.vocabulary])
  const head = info.tiedHead ? embedding : arena.plan([info.width, info.vocabulary])
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
  const packedHead =
    kernels === null
      ? null
      : {
          kernels,
          panels: kernels.plan(arena, [info.vocabulary, info.width]),
          transposed: null,
        }
  return { layers, embedding, outputNorm, frequencyFactors, head, packedHead, paddedRank }
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
  const { packedHead } = weights
  return {
    ...weights,
    packedHead: packedHead === null ? null : transposedHead(arena, packedHead),
    layers: weights.layers.map((layer) => ({
      ...layer,
      qkv: transpose(layer.qkv),
      output: transpose(layer.output),
      gateUp: transpose(layer.gateUp),
      down: transpose(layer.down),
    })),
  }
}

function transposedHead(arena: Arena, head: PackedHead): PackedHead {
  const { rows, columns } = head.panels
  return { ...head, transposed: head.kernels.plan(arena, [columns, rows]) }
}

export interface Source {
  readonly file: GgufFile
  readonly bytes: ByteSource
  readonly config: ModelConfig
}

/** Values converted at once: bounds the JavaScript memory of loading to a few MiB. */
const chunkValues = 2 ** 20

/** Reads all weights from the file; an adapter's places are filled by adapter.ts. */
export function loadWeights(runtime: Runtime, source: Source, weights: ModelWeights): void {
  const load = (name: string, ...targets: RowTarget[]): void =>
    loadTensor(runtime, source, { info: tensorOf(source.file, name), targets })
  const plain = (slot: Slot, firstRow = 0): RowTarget => plainTarget(runtime, slot, firstRow)
  const { packedHead, embedding, head } = weights
  const extra = packedHead === null ? [] : [packedTarget(packedHead.kernels, packedHead.panels, 0)]
  load('token_embd.weight', plain(embedding), ...(head === embedding ? extra : []))
  load('output_norm.weight', plain(weights.outputNorm))
  if (head !== embedding) load('output.weight', plain(head), ...extra)
  const { frequencyFactors } = weights
  if (frequencyFactors !== null) load(frequencyFactorsName, plain(frequencyFactors))
  weights.layers.forEach((layer, index) => {
    for (const [norm, name] of normEntries(source.config)) {
      const slot = layer[norm]
      if (name !== null && slot !== null) load(`blk.${index}.${name}.weight`, plain(slot))
    }
    for (const group of groupsOf(layer)) loadGroup(runtime, group, load)
  })
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
  to: { readonly info: GgufTensorInfo; readonly targets: readonly RowTarget[] },
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
    for (const target of to.targets) target(values, columns, row)
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
  const { packedHead } = weights
  if (packedHead !== null) await packTransposed(work, packedHead.kernels, packedHead)
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
  { panels, transposed }: Pick<PackedHead, 'panels' | 'transposed'>,
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
