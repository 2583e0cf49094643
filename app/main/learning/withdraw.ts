// When the user takes back a wish, whatever was made with its help never trains again, and the versions that were
// trained on it say so. Source: DESIGN 4 (end), 6.6, 10.
import type { Sample } from '../../shared/domain/training.ts'
import type { LearningDeps } from './ports.ts'

type WithdrawDeps = Pick<LearningDeps, 'store' | 'publish'>

export interface Withdrawal {
  readonly isTouched: (sample: Sample) => boolean
  /** `hint "…" was vetoed`, for the sample and the version. */
  readonly what: 'hint' | 'note'
  readonly text: string
}

/** Trained samples too: they are not replayed any more. */
export function withdraw(deps: WithdrawDeps, { isTouched, what, text }: Withdrawal): void {
  const ended = what === 'hint' ? 'vetoed' : 'removed'
  const touched = deps.store
    .samples(['ready', 'used', 'returned', 'retired'])
    .filter(({ sample }) => isTouched(sample))
  const ids = new Set(touched.map(({ sample }) => sample.id))
  for (const id of ids) {
    deps.store.setSampleState(id, 'vetoed', `its ${what} "${text}" was ${ended}`)
  }
  for (const version of deps.store.versions()) {
    if (version.sampleIds.some((id) => ids.has(id))) {
      deps.store.taint(version.version, `It learned from the ${what} "${text}", ${ended} since.`)
    }
  }
  deps.publish({ kind: 'versions-changed' })
}
