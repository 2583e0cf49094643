// Which samples a turn gives: the table of DESIGN 7.1, from what is decided so far. Pure reading of the store
// plus tokenising through the policy; writing is `refreshSamples` alone.
import type { Message } from '../../shared/domain/chat.ts'
import type { Hint } from '../../shared/domain/hint.ts'
import type { Sample } from '../../shared/domain/training.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import type { PromptMessage } from '../policy/types.ts'
import type { StoredSample } from '../store/types.ts'
import type { LearningDeps } from './ports.ts'
import { editMask } from './edit-mask.ts'
import { acceptedRevision } from './revision.ts'
import { mayTeach } from './teaching.ts'

export type PoolDeps = Pick<LearningDeps, 'store' | 'policy' | 'rules' | 'now'>

/** A sample before it has an id. */
export type SampleDraft = Omit<Sample, 'id' | 'createdAt'>

const hintsPerSample = 3

const replacedReason = 'a later decision replaced it'

function isEligible(deps: PoolDeps, turn: Turn): boolean {
  return (
    mayTeach(deps.store, turn.chatId) &&
    turn.kind === 'main' &&
    !turn.heldOut &&
    turn.responseIds.length > 0
  )
}

/** Samples in these states whose chat may still teach: not those of the trash or of a chat that does not learn. */
export function teachingSamples(
  store: LearningDeps['store'],
  states: readonly StoredSample['state'][],
): StoredSample[] {
  return store
    .samples(states)
    .filter(({ sample }) => sample.chatId === null || mayTeach(store, sample.chatId))
}

/** The bare conversation a turn answered, as prompt messages. */
export function turnMessages(deps: PoolDeps, turn: Turn): PromptMessage[] {
  const message = deps.store.message(turn.messageId)
  if (message?.parentId == null) return []
  return deps.rules.promptMessages(deps.store.path(message.parentId), deps.store.settings())
}

/** Approved hints, shortest first, each with the prompt that carries it and the notes in scope. */
function trainableHints(deps: PoolDeps, turn: Turn, hints: readonly Hint[]): Sample['hints'] {
  const messages = turnMessages(deps, turn)
  const request = messages.findLast((message) => message.role === 'user')?.text ?? ''
  const notes = deps.store
    .notes()
    .filter((note) => note.state !== 'off' && deps.rules.inScope(note, request, turn.chatId))
  return [...hints]
    .sort((a, b) => a.text.length - b.text.length)
    .slice(0, hintsPerSample)
    .map((hint) => {
      const others = notes.filter((note) => note.id !== hint.noteId).map((note) => note.text)
      const hinted = deps.rules.withHints(messages, [hint.text, ...others.slice(0, 2)])
      const { ids } = deps.policy().render(hinted, { reserve: turn.responseIds.length })
      return { hintId: hint.id, text: hint.text, promptIds: [...ids] }
    })
}

function noteIdsOf(hints: readonly Hint[]): string[] {
  return [...new Set(hints.flatMap((hint) => (hint.noteId === null ? [] : [hint.noteId])))]
}

function base(turn: Turn): Omit<SampleDraft, 'kind' | 'origin' | 'reward' | 'hints' | 'noteIds'> {
  return {
    turnId: turn.id,
    chatId: turn.chatId,
    promptIds: turn.bareIds,
    responseIds: turn.responseIds,
    temperature: turn.temperature,
    samplerLogProbs: turn.logProbs,
    sampledPromptIds: turn.scaffoldNoteIds.length > 0 ? turn.promptIds : null,
    version: turn.version,
    rewardMask: null,
  }
}

/** A note that was taken back does not teach through the replies it made. */
function isMadeByGoneNote(deps: PoolDeps, turn: Turn): boolean {
  return turn.scaffoldNoteIds.some((id) => deps.store.note(id) === null)
}

/** The turn's own tokens as a sample, if its reward or its hints say something. */
function replyDraft(deps: PoolDeps, turn: Turn, hints: readonly Hint[]): SampleDraft | null {
  const { reward } = turn
  const value = reward.kind === 'decided' && reward.value !== 0 ? reward.value : null
  const isScaffolded = turn.scaffoldNoteIds.length > 0
  if (reward.kind === 'waiting' || turn.finish !== 'stop') return null
  if (isScaffolded && value === 1) {
    if (isMadeByGoneNote(deps, turn)) return null
    return {
      ...base(turn),
      kind: 'demonstration',
      origin: 'scaffolded-reply',
      reward: null,
      hints: [],
      noteIds: turn.scaffoldNoteIds,
    }
  }
  const usedValue = isScaffolded ? null : value
  if (usedValue === null && hints.length === 0) return null
  return {
    ...base(turn),
    rewardMask: editedMask(deps, turn),
    kind: 'turn',
    origin: 'reply',
    reward: usedValue,
    hints: trainableHints(deps, turn, hints),
    noteIds: noteIdsOf(hints),
  }
}

function lastEdit(deps: PoolDeps, turn: Turn): string | null {
  return deps.store.signals(turn.id).findLast((signal) => signal.kind === 'edit')?.text ?? null
}

/** A reward that comes from an edit is about the words that the edit took out. */
function editedMask(deps: PoolDeps, turn: Turn): Sample['rewardMask'] {
  const edited = lastEdit(deps, turn)
  if (edited === null || turn.reward.kind !== 'decided' || turn.reward.by !== 'edit') return null
  const ends = new Set(deps.policy().info().endIds)
  const texts = turn.responseIds.map((id) => (ends.has(id) ? '' : deps.policy().tokenText(id)))
  return editMask(texts, edited)
}

/** What the user typed in the reply's place. */
function editDraft(deps: PoolDeps, turn: Turn): SampleDraft | null {
  const edited = lastEdit(deps, turn)
  if (edited === null) return null
  const { replyEndId: end } = deps.policy().info()
  const responseIds = [...deps.policy().idsOf(edited), ...(end === null ? [] : [end])]
  return {
    ...base(turn),
    kind: 'demonstration',
    origin: 'edited-reply',
    responseIds,
    samplerLogProbs: null,
    sampledPromptIds: null,
    temperature: 1,
    reward: null,
    hints: [],
    noteIds: [],
  }
}

function revisionDraft(deps: PoolDeps, turn: Turn, hints: readonly Hint[]): SampleDraft | null {
  const isRejected = turn.reward.kind === 'decided' && turn.reward.value === -1
  if (!isRejected || hints.length === 0) return null
  const revision = acceptedRevision(deps, turn, noteIdsOf(hints))
  if (revision === null || isMadeByGoneNote(deps, revision)) return null
  return {
    ...base(turn),
    kind: 'demonstration',
    origin: 'accepted-revision',
    responseIds: revision.responseIds,
    samplerLogProbs: null,
    sampledPromptIds: null,
    reward: null,
    hints: [],
    noteIds: [...new Set([...noteIdsOf(hints), ...revision.scaffoldNoteIds])],
  }
}

/** Everything a turn teaches now; empty while one of its hints waits for a decision. */
export function samplesOf(deps: PoolDeps, turn: Turn): SampleDraft[] {
  if (!isEligible(deps, turn)) return []
  const hints = deps.store.hintsOf(turn.id)
  if (hints.some((hint) => hint.state === 'proposed')) return []
  const agreed = hints.filter((hint) => hint.state === 'approved' || hint.state === 'edited')
  return [
    replyDraft(deps, turn, agreed),
    editDraft(deps, turn),
    revisionDraft(deps, turn, agreed),
  ].filter((draft) => draft !== null)
}

function contentKey(draft: SampleDraft): string {
  const { kind, origin, reward, responseIds, hints, noteIds } = draft
  const texts = hints.map((hint) => [hint.hintId, hint.text])
  return JSON.stringify([kind, origin, reward, responseIds, texts, noteIds])
}

/** Brings the stored samples of a turn in line with what is decided; trained ones stay as history. */
export function refreshSamples(deps: PoolDeps, turnId: string): void {
  const turn = deps.store.turn(turnId)
  if (turn === null) return
  const wanted = new Map(samplesOf(deps, turn).map((draft) => [contentKey(draft), draft]))
  const stored = deps.store.samplesOfTurn(turnId)
  const waiting = stored.filter(({ state }) => state === 'ready' || state === 'returned')
  for (const { sample } of waiting) {
    if (!wanted.has(contentKey(sample))) {
      deps.store.setSampleState(sample.id, 'retired', replacedReason)
    }
  }
  const known = new Set(
    stored
      .filter(({ state, reason }) => state !== 'vetoed' && reason !== replacedReason)
      .map(({ sample }) => contentKey(sample)),
  )
  let number = stored.length
  for (const [key, draft] of wanted) {
    if (known.has(key)) continue
    number += 1
    deps.store.addSample({ ...draft, id: `${turnId}.${number}`, createdAt: deps.now() })
  }
}

/** The turns above a message on its path, nearest first: a later acceptance teaches them too. */
export function turnsAbove(deps: PoolDeps, message: Message): string[] {
  return deps.store
    .path(message.id)
    .toReversed()
    .flatMap((each) => (each.turnId === null ? [] : [each.turnId]))
}
