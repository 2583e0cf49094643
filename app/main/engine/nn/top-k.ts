// Picks the largest numbers of each row; equal numbers are ordered by position, so the choice is deterministic.

export interface TopRequest {
  readonly rows: number
  readonly columns: number
  readonly count: number
}

export interface TopOfRows {
  readonly ids: Int32Array // [rows, count]
  readonly values: Float32Array // [rows, count]
}

export function topOfRows(matrix: Float32Array, request: TopRequest): TopOfRows {
  const { rows, columns, count } = request
  const ids = new Int32Array(rows * count)
  const values = new Float32Array(rows * count).fill(-Infinity)
  for (let row = 0; row < rows; row += 1) {
    const line = matrix.subarray(row * columns, (row + 1) * columns)
    const at = row * count
    pickTop(line, ids.subarray(at, at + count), values.subarray(at, at + count))
  }
  return { ids, values }
}

/** Insertion into a short sorted list: nearly every number fails the first comparison. */
function pickTop(line: Float32Array, ids: Int32Array, values: Float32Array): void {
  const count = ids.length
  let filled = 0
  let worst = -Infinity
  for (let id = 0; id < line.length; id += 1) {
    const value = line[id] as number
    if (filled === count && !(value > worst)) continue
    let place = filled < count ? filled : count - 1
    while (place > 0 && value > (values[place - 1] as number)) {
      values[place] = values[place - 1] as number
      ids[place] = ids[place - 1] as number
      place -= 1
    }
    values[place] = value
    ids[place] = id
    if (filled < count) filled += 1
    worst = values[count - 1] as number
  }
}

/**
 * The largest of lists that parts of the vocabulary made: `stats` [slices, rows, 2 + 2K] as native/head.h writes it.
 * Equal numbers are ordered by id. Always K: a position whose logits are not numbers has no largest ones, and where a
 * number is missing stand token 0 and NaN.
 */
export function mergeTop(
  stats: Float32Array,
  at: { readonly row: number; readonly rows: number; readonly topK: number },
): { readonly id: number; readonly value: number }[] {
  const { row, rows, topK } = at
  const size = 2 + 2 * topK
  const found: { id: number; value: number }[] = []
  for (let start = row * size; start < stats.length; start += rows * size) {
    for (let k = 0; k < topK; k += 1) {
      const value = stats[start + 2 + k] ?? NaN
      if (value !== -Infinity) found.push({ id: stats[start + 2 + topK + k] ?? NaN, value })
    }
  }
  found.sort((one, other) => other.value - one.value || one.id - other.id)
  const missing = Array.from({ length: Math.max(0, topK - found.length) }, () => ({
    id: 0,
    value: NaN,
  }))
  return [...found.slice(0, topK), ...missing]
}
