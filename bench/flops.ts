// Floating-point operations of one training step, a multiplication and an addition each counted as one. Only what the
// method needs is counted: the lower triangle of attention, no work done twice to save memory, no element-wise steps
// (norms, rotations, activations; together below one percent). So programs that do the same step can be compared.
// Letters: T input tokens, R positions with a loss, C width, V vocabulary, H heads, D head size, r rank.
import { projectionShape, projections } from '../app/main/engine/nn/tensors.ts'
import type { ModelInfo } from '../app/main/engine/index.ts'

export interface StepSize {
  /** T. */
  readonly tokens: number
  /** R. */
  readonly response: number
  readonly rank: number
}

export interface StepOperations {
  /** Base weights: y = W x and dx = Wᵀ dy. */
  readonly projections: number
  /** Pairs: h = A x, y += B h, dB, dh, dA and dx += Aᵀ dh. */
  readonly adapter: number
  /** Scores and values forward, four products backward, each over T (T + 1) / 2 pairs of positions. */
  readonly attention: number
  /** Logits and the gradient of the hidden states, at R positions. */
  readonly head: number
  readonly total: number
}

export function stepOperations(
  info: ModelInfo,
  { tokens, response, rank }: StepSize,
): StepOperations {
  const shapes = projections.map((name) => ({ name, shape: projectionShape(info, name) }))
  const parts = { projections: 0, adapter: 0 }
  for (let layer = 0; layer < info.layers; layer += 1) {
    for (const { name, shape } of shapes) {
      const [inputs, outputs] = shape
      // Nobody needs the gradient of the embeddings, the input of the first layer's q, k and v.
      const needsInput = layer > 0 || !['attn_q', 'attn_k', 'attn_v'].includes(name)
      parts.projections += 2 * tokens * inputs * outputs * (needsInput ? 2 : 1)
      parts.adapter += 2 * tokens * rank * (3 * outputs + (needsInput ? 3 : 2) * inputs)
    }
  }
  const pairs = (tokens * (tokens + 1)) / 2
  const attention = 6 * 2 * info.headSize * info.heads * pairs * info.layers
  const head = 2 * 2 * response * info.width * info.vocabulary
  return { ...parts, attention, head, total: parts.projections + parts.adapter + attention + head }
}

/** A matrix W [rows, columns] of a layer's product y = W x. */
export interface ProductShape {
  readonly name: string
  readonly rows: number
  readonly columns: number
}

/** The products with base weights of one layer's step, projections with one input taken together. */
export function layerProducts(info: ModelInfo): ProductShape[] {
  const { width, feedForward, headSize, heads, keyValueHeads } = info
  const forward = [
    { name: 'q, k, v', rows: headSize * (heads + 2 * keyValueHeads), columns: width },
    { name: 'output', rows: width, columns: headSize * heads },
    { name: 'gate, up', rows: 2 * feedForward, columns: width },
    { name: 'down', rows: width, columns: feedForward },
  ]
  const backward = forward.map(({ name, rows, columns }) => {
    return { name: `${name} (dx)`, rows: columns, columns: rows }
  })
  return [...forward, ...backward]
}
