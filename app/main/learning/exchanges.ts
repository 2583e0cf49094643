// Bundled neutral exchanges as token ids of the loaded model: for the anchor, the gate and the probe.
import type { Exchange, Sample } from '../../shared/domain/training.ts'
import type { LearningPolicy, NeutralText } from './ports.ts'

export function tokenised(policy: LearningPolicy, texts: readonly NeutralText[]): Exchange[] {
  const { replyEndId: end } = policy.info()
  return texts.map(({ prompt, reply, ended }) => {
    const rendered = policy.render([{ role: 'user', text: prompt }], { reserve: 1 })
    const responseIds = policy.idsOf(reply)
    if (ended && end !== null) responseIds.push(end)
    return { promptIds: [...rendered.ids], responseIds }
  })
}

/** A run's own positions, where old and new differ most: what the swap probe looks at. */
export function probeExchanges(samples: readonly Sample[]): Exchange[] {
  return samples
    .toSorted((a, b) => Number(b.kind === 'demonstration') - Number(a.kind === 'demonstration'))
    .slice(0, 3)
    .map(({ promptIds, responseIds }) => ({ promptIds, responseIds: responseIds.slice(0, 64) }))
}
