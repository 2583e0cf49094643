// One pass over a sequence or several, whatever computes it: forward through the layers, the head's losses, backward. Calls come in
// this order: forward, then scores or kl, then backward of what the head left.
import type { AdapterGradients } from '../types.ts'

export interface GatherRequest {
  readonly ids: Int32Array // [R, M]
  readonly idsPerRow: number
  readonly topK: number
}

export interface HeadScores {
  readonly gathered: Float32Array // [R, M]
  readonly topIds: Int32Array // [R, K]
  readonly topLogProbs: Float32Array // [R, K]
}

export interface Executor {
  /** Computes the normed hidden states at the R response positions, those of all sequences one after another. */
  forward(): Promise<void>
  /** [R, C]. */
  readHidden(): Float32Array
  /** Log-probabilities at the ids and the likeliest tokens. */
  scores(request: GatherRequest): Promise<HeadScores>
  /** From d loss / d log-probability [R, M] of the last `scores` to d hidden. */
  scoresBackward(request: GatherRequest, gradient: Float32Array): Promise<void>
  /** KL(base ‖ θ) per position, [R]; with a factor also d hidden of its sum times that. */
  kl(baseHidden: Float32Array, factor: number | null): Promise<Float32Array>
  /** Adds every pair's gradient, from d hidden. */
  backward(gradients: AdapterGradients): Promise<void>
}
