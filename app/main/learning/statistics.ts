// Small statistics of the gate, pure.

/** Wilson score interval of a proportion at 95% (z = 1.96). */
export function wilson(
  successes: number,
  trials: number,
): { readonly low: number; readonly high: number } {
  if (trials === 0) return { low: 0, high: 1 }
  const z = 1.96
  const p = successes / trials
  const scale = 1 + (z * z) / trials
  const centre = p + (z * z) / (2 * trials)
  const spread = z * Math.sqrt((p * (1 - p)) / trials + (z * z) / (4 * trials * trials))
  return {
    low: Math.max(0, (centre - spread) / scale),
    high: Math.min(1, (centre + spread) / scale),
  }
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Share of word 4-grams that occur more than once, 0 (all different) to 1; 0 for texts under 12 words. */
export function repetition(text: string): number {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  if (words.length < 12) return 0
  const seen = new Map<string, number>()
  const grams = words.length - 3
  for (let index = 0; index < grams; index += 1) {
    const gram = words.slice(index, index + 4).join(' ')
    seen.set(gram, (seen.get(gram) ?? 0) + 1)
  }
  const repeated = [...seen.values()]
    .filter((count) => count > 1)
    .reduce((sum, count) => sum + count, 0)
  return repeated / grams
}

/** KL(p ‖ q) over listed tokens, nats, both given as log-probabilities; the rest counts as one token. */
export function listedKl(p: readonly number[], q: readonly number[]): number {
  let kl = 0
  let restP = 1
  let restQ = 1
  p.forEach((logP, index) => {
    const logQ = q[index] ?? Number.NEGATIVE_INFINITY
    kl += Math.exp(logP) * (logP - logQ)
    restP -= Math.exp(logP)
    restQ -= Math.exp(logQ)
  })
  if (restP > 1e-6) kl += restP * Math.log(restP / Math.max(restQ, 1e-6))
  return kl
}
