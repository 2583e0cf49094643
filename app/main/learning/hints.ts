// Decisions on hints and what follows from them: notes, samples, tainted versions. DESIGN 4.7, 6.
import type { Hint } from '../../shared/domain/hint.ts'
import type { Sample } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import type { LearningDeps } from './ports.ts'
import { withdraw } from './withdraw.ts'

export interface HintDesk {
  approve(hintId: string, by: 'user' | 'policy'): Hint
  veto(hintId: string): Hint
  edit(hintId: string, text: string): Hint
  undo(hintId: string): Hint
  shown(hintIds: readonly string[], milliseconds: number): void
  /** Applies the policy of the settings to the undecided hints of a turn. */
  applyPolicy(turnId: string): void
}

interface Context {
  readonly deps: LearningDeps
  readonly refresh: (turnId: string) => void
}

function required(deps: LearningDeps, hintId: string): Hint {
  const hint = deps.store.hint(hintId)
  if (hint === null) throw new AppError('not-found', 'This hint does not exist any more.')
  return hint
}

function changed({ deps, refresh }: Context, hint: Hint): Hint {
  refresh(hint.turnId)
  deps.publish({ kind: 'hints-changed' })
  deps.publish({ kind: 'chat-changed', chatId: hint.chatId })
  return deps.store.hint(hint.id) ?? hint
}

/** Takes a decided hint out of the note it was merged into; a note nobody speaks for goes. */
function leaveNote(deps: LearningDeps, hint: Hint): void {
  if (hint.noteId === null) return
  const note = deps.store.note(hint.noteId)
  deps.store.updateHint(hint.id, { noteId: null })
  if (note === null) return
  if (note.count > 1) {
    deps.store.updateNote(note.id, { count: note.count - 1 })
    return
  }
  for (const { sample } of deps.store.samples(['ready', 'returned'])) {
    if (sample.noteIds.includes(note.id)) {
      deps.store.setSampleState(sample.id, 'retired', `its note "${note.text}" was taken back`)
    }
  }
  deps.store.removeNote(note.id)
}

function isAgreed(hint: Hint): boolean {
  return hint.state === 'approved' || hint.state === 'edited'
}

function joinNote(deps: LearningDeps, hint: Hint): void {
  const turn = deps.store.turn(hint.turnId)
  const reply = turn === null ? null : deps.store.message(turn.messageId)
  const request = reply?.parentId == null ? null : deps.store.message(reply.parentId)
  const change = deps.rules.mergeHint(deps.store.notes(), {
    text: hint.text,
    request: request?.text ?? '',
    reply: reply?.text ?? '',
  })
  if (change.kind === 'merge') {
    const { noteId, count, scope, revives } = change
    deps.store.updateNote(noteId, { count, scope, ...(revives ? { state: 'prompt' } : {}) })
    deps.store.updateHint(hint.id, { noteId })
    return
  }
  // Of two wishes that cannot be met together the newer wins, until the user says otherwise.
  for (const id of change.contradicts) deps.store.updateNote(id, { state: 'off' })
  const { text, check, scope } = change
  const note = deps.store.addNote({
    text,
    check,
    scope,
    count: 1,
    state: 'prompt',
    learnedIn: null,
  })
  deps.store.updateHint(hint.id, { noteId: note.id })
}

function decide(
  context: Context,
  hint: Hint,
  decision: { readonly text: string; readonly by: 'user' | 'policy' },
): Hint {
  const { deps } = context
  if (isAgreed(hint) && decision.text === hint.text) return hint
  const isEdited = decision.text !== hint.text || hint.state === 'edited'
  deps.store.transaction(() => {
    leaveNote(deps, hint)
    const decided = deps.store.updateHint(hint.id, {
      state: isEdited ? 'edited' : 'approved',
      text: decision.text,
      decidedBy: decision.by,
    })
    joinNote(deps, decided)
  })
  return changed(context, hint)
}

/** Whether a sample was made with the help of the hint, or of the note that only this hint speaks for. */
function touchedBy(deps: LearningDeps, hint: Hint): (sample: Sample) => boolean {
  const note = hint.noteId === null ? null : deps.store.note(hint.noteId)
  const isLast = note !== null && note.count <= 1
  return (sample) => {
    if (sample.hints.some(({ hintId }) => hintId === hint.id)) return true
    const isUnderNote = note !== null && sample.noteIds.includes(note.id)
    return isUnderNote && (isLast || sample.turnId === hint.turnId)
  }
}

function veto(context: Context, hint: Hint): Hint {
  const { deps } = context
  deps.store.transaction(() => {
    withdraw(deps, { isTouched: touchedBy(deps, hint), what: 'hint', text: hint.text })
    leaveNote(deps, hint)
    deps.store.updateHint(hint.id, { state: 'vetoed', decidedBy: 'user' })
  })
  return changed(context, hint)
}

function undo(context: Context, hint: Hint): Hint {
  const { deps } = context
  deps.store.transaction(() => {
    leaveNote(deps, hint)
    deps.store.updateHint(hint.id, { state: 'proposed', decidedBy: null })
  })
  return changed(context, hint)
}

function countShown(context: Context, hintId: string, milliseconds: number): void {
  const { deps } = context
  const { hintPolicy, hintDelayMinutes } = deps.store.settings()
  const hint = deps.store.hint(hintId)
  if (hint?.state !== 'proposed') return
  const shownMs = hint.shownMs + milliseconds
  const updated = deps.store.updateHint(hintId, { shownMs })
  if (hintPolicy === 'after-delay' && shownMs >= hintDelayMinutes * 60_000) {
    decide(context, updated, { text: hint.text, by: 'policy' })
  }
}

export function createHintDesk(deps: LearningDeps, refresh: (turnId: string) => void): HintDesk {
  const context: Context = { deps, refresh }
  return {
    approve(hintId, by) {
      const hint = required(deps, hintId)
      return decide(context, hint, { text: hint.text, by })
    },
    edit: (hintId, text) =>
      decide(context, required(deps, hintId), { text: text.trim(), by: 'user' }),
    veto: (hintId) => veto(context, required(deps, hintId)),
    undo: (hintId) => undo(context, required(deps, hintId)),
    shown(hintIds, milliseconds) {
      for (const id of hintIds) countShown(context, id, milliseconds)
    },
    applyPolicy(turnId) {
      if (deps.store.settings().hintPolicy !== 'automatic') return
      for (const hint of deps.store.hintsOf(turnId)) {
        if (hint.state !== 'proposed') continue
        decide(context, hint, { text: hint.text, by: 'policy' })
      }
    },
  }
}
