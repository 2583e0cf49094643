// Where a neutral reply may end must stay where it was. The mean KL over all positions hardly sees that: a reply has a
// hundred tokens and few places where it could stop, and a model that stops at the first of them is far shorter.
// Σ_t KL of the two-way choice "end here or go on" is the KL between the lengths that both would give this reply.
import { at } from './surrogate.ts'

export interface EndingResult {
  /** Σ_t KL(base ‖ θ) of ending or not, nats a reply. */
  readonly loss: number
  /** d loss / d ℓ_θ(end), [R]. */
  readonly gradient: Float32Array
}

/** A probability nearer to 1 than this has no finite slope in single precision. */
const mostLogProb = -1e-4

/** `logProbs`: ℓ_θ of the end token at every reply position; `baseLogProbs`: ℓ_base of the same, both [R]. */
export function endingLoss(
  logProbs: ArrayLike<number>,
  baseLogProbs: ArrayLike<number>,
): EndingResult {
  const gradient = new Float32Array(logProbs.length) // [R]
  let loss = 0
  for (let t = 0; t < logProbs.length; t++) {
    const own = Math.min(at(logProbs, t), mostLogProb)
    const base = Math.min(at(baseLogProbs, t), mostLogProb)
    const p = Math.exp(base)
    const q = Math.exp(own)
    const [goesOn, baseGoesOn] = [Math.log1p(-q), Math.log1p(-p)]
    loss += p * (base - own) + (1 - p) * (baseGoesOn - goesOn)
    gradient[t] = (1 - p) * (q / (1 - q)) - p
  }
  return { loss, gradient }
}
