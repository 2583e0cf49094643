// Decisions on hints and what follows from them: notes, samples, tainted versions. DESIGN 4.7, 6.
import type { Hint } from '../../shared/domain/hint.ts'
import { AppError } from '../../shared/errors.ts'
import type { LearningDeps } from './ports.ts'

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
  if (note.count <= 1) deps.store.removeNote(note.id)
  else deps.store.updateNote(note.id, { count: note.count - 1 })
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

/** Withdraws every sample that carries the hint and marks the versions that were trained on one. */
function withdraw(deps: LearningDeps, hint: Hint): void {
  const touched = deps.store
    .samples(['ready', 'used', 'returned', 'retired'])
    .filter((stored) => stored.sample.hints.some((used) => used.hintId === hint.id))
  const ids = new Set(touched.map((stored) => stored.sample.id))
  for (const id of ids) {
    deps.store.setSampleState(id, 'vetoed', `its hint "${hint.text}" was vetoed`)
  }
  for (const version of deps.store.versions()) {
    if (version.sampleIds.some((id) => ids.has(id))) {
      deps.store.taint(version.version, `It learned from the hint "${hint.text}", vetoed since.`)
    }
  }
  deps.publish({ kind: 'versions-changed' })
}

function veto(context: Context, hint: Hint): Hint {
  const { deps } = context
  deps.store.transaction(() => {
    leaveNote(deps, hint)
    deps.store.updateHint(hint.id, { state: 'vetoed', decidedBy: 'user' })
    withdraw(deps, hint)
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
