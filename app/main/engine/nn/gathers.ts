// What several sequences ask of the LM head as one request, and its answer taken apart again.
import type { ModelInfo, Score, ScoreRequest, SequenceRequest } from '../types.ts'
import type { GatherRequest, HeadScores } from './executor.ts'
import { checkGatherIds } from './requests.ts'

/** One sequence and what it asks. */
export interface Part<Request extends SequenceRequest = SequenceRequest> {
  readonly request: Request
  readonly gather: GatherRequest
}

export function part<Request extends SequenceRequest>(
  request: Request | undefined,
  gather: GatherRequest | undefined,
): Part<Request> {
  if (request === undefined || gather === undefined) throw new Error('a sequence is missing')
  return { request, gather }
}

export function only<T>(items: readonly T[]): T {
  const [item] = items
  if (item === undefined || items.length !== 1) throw new Error(`expected one, got ${items.length}`)
  return item
}

export function responseLength({ tokens, responseStart }: SequenceRequest): number {
  return tokens.length - responseStart
}

/** Each row looks up the sampled token and then the caller's ids. */
export function sampledAndExtra(info: ModelInfo, request: ScoreRequest): GatherRequest {
  const R = responseLength(request)
  const extra = request.gatherIds ?? new Int32Array(0)
  const M = checkGatherIds(info, extra, R)
  const ids = new Int32Array(R * (M + 1))
  for (let row = 0; row < R; row += 1) {
    ids[row * (M + 1)] = request.tokens[request.responseStart + row] ?? 0
    ids.set(extra.subarray(row * M, (row + 1) * M), row * (M + 1) + 1)
  }
  return { ids, idsPerRow: M + 1, topK: request.topK ?? 0 }
}

/** Rows of all, as wide as the widest; places that nobody asked for hold token 0. */
export function joinGathers(gathers: readonly GatherRequest[]): GatherRequest {
  const M = Math.max(...gathers.map(({ idsPerRow }) => idsPerRow))
  const topK = Math.max(...gathers.map((gather) => gather.topK))
  const rows = gathers.map(({ ids, idsPerRow }) => (idsPerRow === 0 ? 0 : ids.length / idsPerRow))
  const ids = new Int32Array(M * rows.reduce((sum, count) => sum + count, 0))
  let at = 0
  gathers.forEach((gather, i) => {
    copyRows(gather.ids, { width: gather.idsPerRow, target: ids, at, stride: M })
    at += (rows[i] ?? 0) * M
  })
  return { ids, idsPerRow: M, topK }
}

function copyRows<A extends Int32Array | Float32Array>(
  source: A,
  to: { readonly width: number; readonly target: A; readonly at: number; readonly stride: number },
): void {
  const { width, target, at, stride } = to
  if (width === 0) return
  for (let row = 0; row < source.length / width; row += 1) {
    target.set(source.subarray(row * width, (row + 1) * width), at + row * stride)
  }
}

interface Joined<Request extends SequenceRequest> {
  readonly gather: GatherRequest
  readonly parts: readonly Part<Request>[]
}

/** Each sequence's log-probabilities, [R, M] with its own M. */
export function splitGathered<Request extends SequenceRequest>(
  gathered: Float32Array,
  { gather, parts }: Joined<Request>,
): Float32Array[] {
  const stride = gather.idsPerRow
  let first = 0
  return parts.map(({ request, gather: { idsPerRow: M } }) => {
    const R = responseLength(request)
    const values = new Float32Array(R * M)
    for (let row = 0; row < R; row += 1) {
      const at = (first + row) * stride
      values.set(gathered.subarray(at, at + M), row * M)
    }
    first += R
    return values
  })
}

/** The other way round: gradients [R, M] of each sequence as those of the joined request. */
export function joinGradients<Request extends SequenceRequest>(
  gradients: readonly Float32Array[],
  { gather, parts }: Joined<Request>,
): Float32Array {
  const target = new Float32Array(gather.ids.length)
  let at = 0
  parts.forEach(({ request, gather: { idsPerRow } }, i) => {
    const source = gradients[i] ?? new Float32Array(0)
    copyRows(source, { width: idsPerRow, target, at, stride: gather.idsPerRow })
    at += responseLength(request) * gather.idsPerRow
  })
  return target
}

export function splitScores(scores: HeadScores, { gather, parts }: Joined<ScoreRequest>): Score[] {
  let first = 0
  return splitGathered(scores.gathered, { gather, parts }).map((values, i) => {
    const { request, gather: own } = part(parts[i]?.request, parts[i]?.gather)
    const [R, M, K] = [responseLength(request), own.idsPerRow - 1, own.topK]
    const gathered = new Float32Array(R * M)
    for (let row = 0; row < R; row += 1) {
      gathered.set(values.subarray(row * (M + 1) + 1, (row + 1) * (M + 1)), row * M)
    }
    const sampled = Float32Array.from({ length: R }, (_, row) => values[row * (M + 1)] ?? NaN)
    const topIds = new Int32Array(R * K)
    const topLogProbs = new Float32Array(R * K)
    for (let row = 0; row < R; row += 1) {
      const at = (first + row) * gather.topK
      topIds.set(scores.topIds.subarray(at, at + K), row * K)
      topLogProbs.set(scores.topLogProbs.subarray(at, at + K), row * K)
    }
    first += R
    return { sampled, gathered, topIds, topLogProbs }
  })
}
