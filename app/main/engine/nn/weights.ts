// The frozen weights in native memory, as f32, laid out for linear.ts: projections grouped by input, with room
// for the adapter's columns. Transposed copies for the backward pass are made when first needed.
// For dX of the projections the copies are worth their memory: ggml's product of one with a gradient runs at 45
// GFLOP/s on one busy core, ggml_out_prod over the stored weights at 23 to 25. For the head they are not.
import { Graph, dequantise, ops } from '../ffi/index.ts'
import type { Allocator, Arena, Pacer, Runtime, Slot } from '../ffi/index.ts'
import type { GgufFile, GgufTensorInfo } from '../gguf/reader.ts'
import type { ByteSource } from '../gguf/source.ts'
import type { ModelInfo, Projection } from '../types.ts'
import { projectionName, projectionShape, tensorOf } from './config.ts'
import type { LinearGroup } from './ops/linear.ts'

export interface LayerWeights {
  readonly attentionNorm: Slot
  readonly feedForwardNorm: Slot
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
  /** [C, V]; the embedding itself where the head is tied. */
  readonly head: Slot
  readonly paddedRank: number
}

export type GroupName = 'qkv' | 'output' | 'gateUp' | 'down'

const groupMembers: Record<GroupName, readonly Projection[]> = {
  qkv: ['attn_q', 'attn_k', 'attn_v'],
  output: ['attn_output'],
  gateUp: ['ffn_gate', 'ffn_up'],
  down: ['ffn_down'],
}

export function groupsOf(layer: LayerWeights): readonly LinearGroup[] {
  return [layer.qkv, layer.output, layer.gateUp, layer.down]
}

/** Plans the places of all weights in an arena. */
export function planWeights(arena: Arena, info: ModelInfo, paddedRank: number): ModelWeights {
  const embedding = arena.plan([info.width, info.vocabulary])
  const head = info.tiedHead ? embedding : arena.plan([info.width, info.vocabulary])
  const layers = Array.from({ length: info.layers }, (_, layer) => {
    const group = (name: GroupName): LinearGroup =>
      planGroup(arena, info, { layer, name, paddedRank })
    return {
      attentionNorm: arena.plan([info.width]),
      feedForwardNorm: arena.plan([info.width]),
      qkv: group('qkv'),
      output: group('output'),
      gateUp: group('gateUp'),
      down: group('down'),
    }
  })
  const outputNorm = arena.plan([info.width])
  return { layers, embedding, outputNorm, head, paddedRank }
}

function planGroup(
  arena: Arena,
  info: ModelInfo,
  place: { readonly layer: number; readonly name: GroupName; readonly paddedRank: number },
): LinearGroup {
  const { paddedRank } = place
  const names = groupMembers[place.name]
  const shapes = names.map((projection) => projectionShape(info, projection))
  const inFeatures = shapes[0]?.[0] ?? 0
  const outFeatures = shapes.reduce((sum, [, out]) => sum + out, 0)
  const rank = paddedRank * names.length
  return {
    inFeatures,
    outFeatures,
    paddedRank,
    members: names.map((projection, m) => ({
      name: projectionName(place.layer, projection),
      outFeatures: shapes[m]?.[1] ?? 0,
      bT: arena.plan([shapes[m]?.[1] ?? 0, paddedRank]),
    })),
    weight: arena.plan([inFeatures + rank, outFeatures]),
    transposed: null,
    a: arena.plan([inFeatures, rank]),
  }
}

/** Plans the transposed copies in an arena of their own. */
export function planTransposed(arena: Arena, weights: ModelWeights): ModelWeights {
  const transpose = (group: LinearGroup): LinearGroup => {
    const rank = group.paddedRank * group.members.length
    return { ...group, transposed: arena.plan([group.outFeatures + rank, group.inFeatures]) }
  }
  return {
    ...weights,
    layers: weights.layers.map((layer) => ({
      ...layer,
      qkv: transpose(layer.qkv),
      output: transpose(layer.output),
      gateUp: transpose(layer.gateUp),
      down: transpose(layer.down),
    })),
  }
}

export interface Source {
  readonly file: GgufFile
  readonly bytes: ByteSource
}

/** Values converted at once: bounds the JavaScript memory of loading to a few MiB. */
const chunkValues = 2 ** 20

/** Reads all weights from the file; extra columns start as zero. */
export function loadWeights(runtime: Runtime, source: Source, weights: ModelWeights): void {
  const load = (name: string, slot: Slot): void =>
    loadTensor(runtime, source, { info: tensorOf(source.file, name), slot, firstRow: 0 })
  load('token_embd.weight', weights.embedding)
  load('output_norm.weight', weights.outputNorm)
  if (weights.head !== weights.embedding) load('output.weight', weights.head)
  weights.layers.forEach((layer, index) => {
    load(`blk.${index}.attn_norm.weight`, layer.attentionNorm)
    load(`blk.${index}.ffn_norm.weight`, layer.feedForwardNorm)
    for (const group of groupsOf(layer)) {
      let firstRow = 0
      for (const member of group.members) {
        const info = tensorOf(source.file, member.name)
        loadTensor(runtime, source, { info, slot: group.weight, firstRow })
        firstRow += member.outFeatures
      }
    }
  })
}

/** Converts a tensor's rows and writes them below one another, wider rows being filled with zeros. */
function loadTensor(
  runtime: Runtime,
  source: Source,
  to: { readonly info: GgufTensorInfo; readonly slot: Slot; readonly firstRow: number },
): void {
  using graph = new Graph(runtime)
  const target = graph.leaf(to.slot)
  const columns = to.info.shape[0] ?? 1
  const rows = to.info.elements / columns
  const stride = to.slot.shape[0]
  const step = Math.max(1, Math.floor(chunkValues / columns))
  const rowBytes = to.info.sizeBytes / rows
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row)
    const bytes = source.bytes.read(to.info.offset + row * rowBytes, count * rowBytes)
    const values = new Float32Array(count * columns)
    dequantise(runtime, { type: to.info.type, bytes }, values)
    runtime.write(target, widen(values, columns, stride), (to.firstRow + row) * stride)
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
  for (const layer of weights.layers) {
    using g = new Graph(work.runtime)
    for (const group of groupsOf(layer)) transposeInto(g, group)
    await g.run(work.allocator, work.pacer)
  }
}

function transposeInto(g: Graph, group: LinearGroup): void {
  if (group.transposed === null) throw new Error('no place for the transposed weights')
  const { inFeatures, outFeatures } = group
  const from = g.leaf(group.weight)
  const to = g.leaf(group.transposed)
  // Pieces of rows keep one copy well under the time of a segment.
  const step = Math.max(16, Math.floor(2 ** 21 / inFeatures))
  for (let row = 0; row < outFeatures; row += step) {
    const count = Math.min(step, outFeatures - row)
    const piece = ops.view(g, from, { shape: [inFeatures, count], offset: row * from.shape[0] })
    const place = ops.view(g, to, { shape: [count, inFeatures], offset: row })
    ops.copyInto(g, ops.permute(g, piece, [1, 0, 2, 3]), place)
  }
}
