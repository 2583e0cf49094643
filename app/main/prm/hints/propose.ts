// Gathers the hint candidates of a turn (DESIGN 6.1), rates each, and drops those that say the same.
import type { NextState } from '../../../shared/contract/prm.ts'
import type { HintProposal, Note } from '../../../shared/domain/hint.ts'
import { satisfies } from '../checks.ts'
import { sameKindOfRequest } from '../request-kind.ts'
import { maskSecrets } from '../secrets.ts'
import { sameWish } from '../wishes.ts'
import { extractWishes, strip } from './extract.ts'
import { rateHint } from './filter.ts'
import { wishesFromEdit } from './from-edit.ts'
import { matchesAny } from './wish-cues.ts'

interface Candidate {
  readonly text: string
  readonly source: HintProposal['source']
  readonly quote: string | null
}

export interface ProposalInput {
  readonly state: NextState
  readonly notes: readonly Note[]
  /** What the model judge saw in hindsight. */
  readonly judged: string | null
  /** The reply was accepted by votes: then only words given with a thumb are a hint. */
  readonly accepted: boolean
}

/** Shown, stored and counted in full up to here; nobody types a preference of this length. */
const maxHintCharacters = 8_000
const maxProposals = 12

export function proposeHints({ state, notes, judged, accepted }: ProposalInput): HintProposal[] {
  const candidates = [
    ...fromThumbs(state),
    ...(accepted
      ? []
      : [
          ...fromMessages(state),
          ...fromEdits(state),
          ...fromNotes(state, notes),
          ...(judged === null ? [] : [{ text: judged, source: 'judged', quote: null } as const]),
        ]),
  ]
  const kept: Candidate[] = []
  for (const candidate of candidates) {
    if (kept.length >= maxProposals) break
    if (!kept.some(({ text }) => sameWish(text, candidate.text))) kept.push(candidate)
  }
  return kept.map((candidate) => rated(candidate, state))
}

function rated({ text, source, quote }: Candidate, state: NextState): HintProposal {
  const { quality, reasons } = rateHint(text, state)
  return {
    text: maskSecrets(text.slice(0, maxHintCharacters)),
    source,
    quote: quote === null ? null : maskSecrets(quote.slice(0, maxHintCharacters)),
    quality,
    qualityReasons: reasons,
  }
}

function fromMessages(state: NextState): Candidate[] {
  return state.messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ text }) => extractWishes(text, state.request))
    .map((wish) => ({ ...wish, source: 'extracted' as const }))
}

function fromThumbs(state: NextState): Candidate[] {
  return state.signals.flatMap((signal): Candidate[] => {
    if (signal.kind !== 'thumb' || signal.text.trim() === '') return []
    const quote = signal.text.trim()
    const wishes = extractWishes(quote, state.request)
    if (wishes.length > 0) return wishes.map((wish) => ({ ...wish, source: 'thumb' }))
    const onlyPraise = signal.value === 1 && !matchesAny('target', quote)
    return onlyPraise ? [] : [{ text: strip(quote), source: 'thumb', quote }]
  })
}

function fromEdits(state: NextState): Candidate[] {
  const edit = state.signals.findLast((signal) => signal.kind === 'edit')
  if (edit === undefined) return []
  return wishesFromEdit(state.reply, edit.text).map((text) => ({
    text,
    source: 'edit',
    quote: null,
  }))
}

/** Notes that can be checked, are meant for this request, and were not kept to. A chat's own notes come from that chat. */
function fromNotes(state: NextState, notes: readonly Note[]): Candidate[] {
  return notes
    .filter(({ state: active, check, scope }) => {
      if (active === 'off' || check === null || satisfies(check, state.reply)) return false
      return (
        scope.kind !== 'similar' ||
        scope.requests.some((request) => sameKindOfRequest(request, state.request))
      )
    })
    .map(({ text }) => ({ text, source: 'note', quote: null }))
}
