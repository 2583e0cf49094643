// An engine model that knows its answers: log-probabilities are looked up by the first prompt token. For checking what
// training makes of scores, with no model in between. Only `score` and, where given, `hidden` work.
import { createReferenceModel } from './reference-model.ts'
import type { EngineModel, ScoreRequest } from '../../app/main/engine/types.ts'

/** `logits`: by first prompt token, [R, V] of plain numbers before the temperature. */
export function createTableModel(options: {
  readonly vocabulary: number
  readonly logits: ReadonlyMap<number, readonly number[]>
  /** What stands in `logits`' place where no adapter is asked for. */
  readonly baseLogits?: ReadonlyMap<number, readonly number[]>
  /** Final hidden states of every sequence, [R, C]. */
  readonly hidden?: readonly number[]
}): EngineModel {
  const { vocabulary } = options
  const reference = createReferenceModel({ vocabulary })
  const score: EngineModel['score'] = (request: ScoreRequest) => {
    const first = request.tokens[0] ?? -1
    const ofBase = request.adapter === null ? options.baseLogits?.get(first) : undefined
    const logits = ofBase ?? options.logits.get(first)
    if (logits === undefined) throw new Error(`no table for prompt ${first}`)
    const rows = logProbRows(logits, { vocabulary, temperature: request.temperature })
    const at = (t: number, id: number) => rows[t]?.[id] ?? NaN
    const { gatherIds = new Int32Array(), topK = 0 } = request
    const columns = gatherIds.length / rows.length
    const top = rows.flatMap((row) =>
      row
        .map((_, id) => id)
        .sort((x, y) => (row[y] ?? 0) - (row[x] ?? 0) || x - y)
        .slice(0, topK),
    )
    const sampled = request.tokens.slice(request.responseStart)
    return Promise.resolve({
      sampled: Float32Array.from(sampled, (id, t) => at(t, id)),
      gathered: Float32Array.from(gatherIds, (id, i) => at(Math.floor(i / columns), id)),
      topIds: Int32Array.from(top),
      topLogProbs: Float32Array.from(top, (id, i) => at(Math.floor(i / topK), id)),
    })
  }
  const scoreAll = (requests: readonly ScoreRequest[]) => Promise.all(requests.map(score))
  const hidden: EngineModel['hidden'] = (request) =>
    options.hidden === undefined
      ? reference.hidden(request)
      : Promise.resolve(Float32Array.from(options.hidden))
  return { ...reference, score, scoreAll, hidden }
}

/** Rows of log-softmax(logits / T), [R][V]. */
export function logProbRows(
  logits: readonly number[],
  options: { readonly vocabulary: number; readonly temperature: number },
): number[][] {
  const { vocabulary, temperature } = options
  return Array.from({ length: logits.length / vocabulary }, (_, t) => {
    const row = logits.slice(t * vocabulary, (t + 1) * vocabulary).map((one) => one / temperature)
    const top = Math.max(...row)
    const total = top + Math.log(row.reduce((sum, value) => sum + Math.exp(value - top), 0))
    return row.map((value) => value - total)
  })
}
