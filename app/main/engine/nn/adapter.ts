// Adapters in JavaScript memory: making, checking, gradients of the same shapes, and the copy in native memory.
import { AppError } from '../../../shared/errors.ts'
import { Graph, ops, type Slot } from '../ffi/index.ts'
import { seededRandom } from '../random.ts'
import type { Adapter, AdapterGradients, AdapterTensor, ModelInfo } from '../types.ts'
import { projectionName, projections, projectionShape } from './tensors.ts'
import type { LinearGroup, LinearMember, PlainFactors } from './ops/linear.ts'
import type { PackedFactors } from './ops/packed-linear.ts'
import { groupsOf, type ModelWeights, type Work } from './weights.ts'

/** Largest rank accepted: above it a low-rank pair is no longer smaller than most weights here. */
const maxRank = 256

interface AdapterOptions {
  readonly rank: number
  readonly alpha: number
  readonly seed: number
}

/**
 * A is normal with standard deviation 1 / rank, B zero, so a new adapter changes nothing. Four times larger (variance
 * 1 / rank at rank 16) moves the whole model in the first Adam step: docs/decisions/0011.
 */
export function createAdapter(info: ModelInfo, { rank, alpha, seed }: AdapterOptions): Adapter {
  if (!Number.isInteger(rank) || rank < 1 || rank > maxRank) {
    throw new AppError('invalid-input', `the rank must be from 1 to ${maxRank}, got ${rank}`)
  }
  if (!Number.isFinite(alpha) || alpha <= 0) {
    throw new AppError('invalid-input', `alpha must be positive, got ${alpha}`)
  }
  const random = seededRandom(seed)
  const deviation = 1 / rank
  const tensors = namesOf(info).map(({ name, inFeatures, outFeatures }): AdapterTensor => {
    const a = Float32Array.from({ length: rank * inFeatures }, () => random.normal() * deviation)
    return { name, inFeatures, outFeatures, a, b: new Float32Array(outFeatures * rank) }
  })
  return { rank, alpha, tensors, revision: 0 }
}

interface PairShape {
  readonly name: string
  readonly inFeatures: number
  readonly outFeatures: number
}

/** All pairs that an adapter of this model has, in order. */
export function namesOf(info: ModelInfo): PairShape[] {
  return Array.from({ length: info.layers }, (_, layer) =>
    projections.map((projection) => {
      const [inFeatures, outFeatures] = projectionShape(info, projection)
      return { name: projectionName(layer, projection), inFeatures, outFeatures }
    }),
  ).flat()
}

export function createGradients(adapter: Adapter): AdapterGradients {
  return {
    tensors: adapter.tensors.map((tensor) => ({
      a: new Float32Array(tensor.a.length),
      b: new Float32Array(tensor.b.length),
    })),
  }
}

/** Refuses an adapter that was made for another model. */
export function checkAdapter(info: ModelInfo, adapter: Adapter): void {
  const expected = new Map(namesOf(info).map((pair) => [pair.name, pair]))
  for (const tensor of adapter.tensors) {
    const pair = expected.get(tensor.name)
    if (pair === undefined) {
      throw new AppError(
        'unsupported',
        `the adapter changes ${tensor.name}, which is not trainable`,
      )
    }
    expected.delete(tensor.name)
    if (pair.inFeatures !== tensor.inFeatures || pair.outFeatures !== tensor.outFeatures) {
      const found = `${tensor.inFeatures} → ${tensor.outFeatures}`
      const wanted = `${pair.inFeatures} → ${pair.outFeatures}`
      throw new AppError('unsupported', `expected ${wanted} in ${tensor.name}, found ${found}`)
    }
    const { rank } = adapter
    if (
      tensor.a.length !== rank * tensor.inFeatures ||
      tensor.b.length !== rank * tensor.outFeatures
    ) {
      throw new AppError('invalid-input', `${tensor.name} does not have rank ${rank}`)
    }
  }
}

export function checkGradients(adapter: Adapter, gradients: AdapterGradients): void {
  const fits = adapter.tensors.every((tensor, i) => {
    const gradient = gradients.tensors[i]
    return gradient?.a.length === tensor.a.length && gradient.b.length === tensor.b.length
  })
  if (!fits)
    throw new AppError('invalid-input', 'the gradients do not have the shapes of the adapter')
}

/** Rank rounded up to what ggml's fast products need. */
export function paddedRankOf(rank: number): number {
  return Math.ceil(rank / 16) * 16
}

/** Copies an adapter into the weights' extra columns; pairs that it lacks become zero. */
export async function uploadAdapter(
  work: Work,
  weights: ModelWeights,
  adapter: Adapter,
): Promise<void> {
  const byName = new Map(adapter.tensors.map((tensor) => [tensor.name, tensor]))
  for (const layer of weights.layers) {
    using g = new Graph(work.runtime)
    for (const group of groupsOf(layer)) writeGroup(g, group, { adapter, byName })
    await g.run(work.allocator, work.pacer)
  }
}

interface Named {
  readonly adapter: Adapter
  readonly byName: ReadonlyMap<string, AdapterTensor>
}

function writeGroup(g: Graph, group: LinearGroup, from: Named): void {
  const { factors } = group
  if (factors.kind === 'packed') writePacked(group, factors, from)
  else writePlain(g, group, { factors, from })
}

/** A of all members, [P, I] in rows, which ggml reads as [I, P]. */
function stackedA({ members, paddedRank, inFeatures }: LinearGroup, from: Named): Float32Array {
  const a = new Float32Array(inFeatures * paddedRank * members.length)
  members.forEach((member, m) => {
    const pair = from.byName.get(member.name)
    if (pair !== undefined) a.set(pair.a, m * paddedRank * inFeatures)
  })
  return a
}

function writePacked(group: LinearGroup, factors: PackedFactors, from: Named): void {
  const { kernels, a, aT, b, bT } = factors
  kernels.pack(a, stackedA(group, from), 0)
  kernels.pack(b, diagonalB(group, from), 0)
  // Small matrices: no pause is needed between the pieces.
  Array.from(kernels.transpose(a, aT))
  Array.from(kernels.transpose(b, bT))
}

/** s B of each member in its own rows and columns, [O, P]. */
function diagonalB(
  { members, paddedRank: p, outFeatures }: LinearGroup,
  from: Named,
): Float32Array {
  const columns = p * members.length
  const values = new Float32Array(outFeatures * columns)
  const { rank, alpha } = from.adapter
  let firstRow = 0
  members.forEach((member, m) => {
    const pair = from.byName.get(member.name)
    for (let out = 0; pair !== undefined && out < member.outFeatures; out += 1) {
      const at = (firstRow + out) * columns + m * p
      for (let r = 0; r < rank; r += 1)
        values[at + r] = ((pair.b[out * rank + r] ?? 0) * alpha) / rank
    }
    firstRow += member.outFeatures
  })
  return values
}

function writePlain(
  g: Graph,
  group: LinearGroup,
  { factors, from }: { readonly factors: PlainFactors; readonly from: Named },
): void {
  const { runtime } = g
  const { paddedRank: p, inFeatures } = group
  let firstRow = 0
  group.members.forEach((member, m) => {
    const slot = factors.bT[m]
    if (slot === undefined) throw new Error(`no place for ${member.name}`)
    const bT = g.leaf(slot)
    const pair = from.byName.get(member.name)
    runtime.write(bT, scaledTranspose(member, pair, { p, adapter: from.adapter }))
    // (s B)ᵀ [O, p] → columns I + m · p of the member's rows.
    const [stride] = factors.weight.shape
    const offset = firstRow * stride + inFeatures + m * p
    const place = ops.view(g, g.leaf(factors.weight), { shape: [p, member.outFeatures], offset })
    ops.copyInto(g, ops.permute(g, bT, [1, 0, 2, 3]), place)
    firstRow += member.outFeatures
  })
  const leafA = g.leaf(factors.a)
  runtime.write(leafA, stackedA(group, from))
  if (factors.transposed !== null) copyTransposedA(g, leafA, { group, slot: factors.transposed })
}

/** A [I, P] → the last P columns of [Wᵀ | Aᵀ]. */
function copyTransposedA(
  g: Graph,
  a: ReturnType<Graph['leaf']>,
  to: { readonly group: LinearGroup; readonly slot: Slot },
): void {
  const { outFeatures, inFeatures, paddedRank, members } = to.group
  const shape = [paddedRank * members.length, inFeatures]
  const place = ops.view(g, g.leaf(to.slot), { shape, offset: outFeatures })
  ops.copyInto(g, ops.permute(g, a, [1, 0, 2, 3]), place)
}

/** B [O, r] times alpha / rank as [p, O] in rows, which ggml reads as [O, p]. */
function scaledTranspose(
  member: LinearMember,
  pair: AdapterTensor | undefined,
  { p, adapter }: { readonly p: number; readonly adapter: Adapter },
): Float32Array {
  const values = new Float32Array(member.outFeatures * p)
  if (pair === undefined) return values
  const { rank } = adapter
  const factor = adapter.alpha / rank
  for (let out = 0; out < member.outFeatures; out += 1) {
    for (let r = 0; r < rank; r += 1) {
      values[r * member.outFeatures + out] = (pair.b[out * rank + r] ?? 0) * factor
    }
  }
  return values
}
