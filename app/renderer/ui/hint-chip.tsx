import { Check, CircleHelp, Lightbulb, Pencil, X } from 'lucide-react'
import { useRef, useState } from 'react'
import type { Hint } from '../../shared/domain/hint.ts'
import { useExposure } from '../stores/exposure.ts'
import { useStores } from '../stores/hooks.ts'
import { Button, IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { formatNumber } from './format.ts'
import { useMessages } from './messages/index.ts'
import { Popup } from './popup.tsx'

/** What the user can do with a hint; the same under a reply and in the inbox. */
function useDecisions(hint: Hint) {
  const { host, attempt, hints, notes, conversation } = useStores()
  const decide = async (action: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await attempt(action)
    await Promise.all([
      hints.getState().refresh(),
      notes.getState().refresh(),
      conversation.getState().refresh(),
    ])
    return isDone
  }
  const hintId = hint.id
  return {
    approve: () => decide(() => host.hints.approve({ hintId })),
    veto: () => decide(() => host.hints.veto({ hintId })),
    undo: () => decide(() => host.hints.undo({ hintId })),
    edit: (text: string) => decide(() => host.hints.edit({ hintId, text })),
  }
}

export function HintChip({ hint }: { hint: Hint }) {
  const messages = useMessages()
  const box = useRef<HTMLDivElement>(null)
  const [isEditing, setEditing] = useState(false)
  const decisions = useDecisions(hint)
  const isOpen = hint.state === 'proposed'
  useExposure(box, hint.id, isOpen)
  if (isEditing) {
    return (
      <HintEditor
        text={hint.text}
        onSave={async (text) => {
          if (await decisions.edit(text)) setEditing(false)
        }}
        onCancel={() => setEditing(false)}
      />
    )
  }
  return (
    <div
      ref={box}
      role="group"
      aria-label={`${messages.hint.label}: ${hint.text}`}
      className={classes(
        'animate-rise mt-1.5 flex w-fit max-w-full items-start gap-2 rounded-lg border px-2.5 py-1',
        isOpen ? 'border-accent/50 bg-accent-soft' : 'bg-card',
      )}
    >
      <Lightbulb
        aria-hidden
        className={classes('mt-1.5 size-3.5 shrink-0', isOpen ? 'text-accent' : 'text-ink-faint')}
      />
      <span
        className={classes(
          'min-w-0 py-1 break-words',
          hint.state === 'vetoed' && 'text-ink-soft line-through decoration-line-strong',
        )}
      >
        {hint.text}
      </span>
      <span className="flex shrink-0 items-center">
        {!isOpen && <StateWord hint={hint} />}
        <Why hint={hint} />
        {isOpen ? (
          <>
            <IconButton
              label={messages.hint.approve}
              tone="good"
              onClick={() => void decisions.approve()}
            >
              <Check />
            </IconButton>
            <IconButton label={messages.hint.edit} onClick={() => setEditing(true)}>
              <Pencil />
            </IconButton>
            <IconButton label={messages.hint.veto} tone="bad" onClick={() => void decisions.veto()}>
              <X />
            </IconButton>
          </>
        ) : (
          <Button look="quiet" isSmall onClick={() => void decisions.undo()}>
            {messages.hint.undo}
          </Button>
        )}
      </span>
    </div>
  )
}

function StateWord({ hint }: { hint: Hint }) {
  const { hint: words } = useMessages()
  const tone =
    hint.state === 'approved' || hint.state === 'edited'
      ? 'text-good'
      : hint.state === 'vetoed'
        ? 'text-bad'
        : 'text-ink-faint'
  return (
    <span className={classes('px-1 text-tiny whitespace-nowrap', tone)}>
      {words.states[hint.state]}
      {hint.decidedBy !== null && hint.decidedBy !== 'user' && ` ${words.by[hint.decidedBy]}`}
    </span>
  )
}

function Why({ hint }: { hint: Hint }) {
  const { hint: words } = useMessages()
  return (
    <Popup
      title={words.why}
      trigger={
        <button
          type="button"
          aria-label={words.why}
          title={words.why}
          className="inline-flex size-7 items-center justify-center rounded-lg text-ink-faint hover:bg-sunken hover:text-ink"
        >
          <CircleHelp aria-hidden className="size-[15px]" />
        </button>
      }
    >
      <p className="tabular flex justify-between gap-3 font-semibold">
        <span>{words.sources[hint.source]}</span>
        <span>{words.quality(`${formatNumber(100 * hint.quality, 0)} %`)}</span>
      </p>
      {hint.quote !== null && (
        <p className="mt-2 border-l-2 border-line-strong pl-3 text-ink-soft">
          {words.from}: “{hint.quote}”
        </p>
      )}
      {hint.qualityReasons.length > 0 && (
        <ul className="mt-2 list-disc pl-4 text-ink-soft">
          {hint.qualityReasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
    </Popup>
  )
}

interface EditorProps {
  text: string
  onSave: (text: string) => Promise<void>
  onCancel: () => void
}

function HintEditor({ text, onSave, onCancel }: EditorProps) {
  const messages = useMessages()
  const [draft, setDraft] = useState(text)
  const isUsable = draft.trim() !== ''
  return (
    <form
      className="mt-1.5 flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (isUsable) void onSave(draft.trim())
      }}
    >
      <input
        autoFocus
        aria-label={messages.hint.text}
        value={draft}
        maxLength={2000}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onCancel()}
        className="field min-w-40 flex-1"
      />
      <Button onClick={onCancel}>{messages.app.cancel}</Button>
      <Button type="submit" look="primary" disabled={!isUsable}>
        {messages.hint.saveEdit}
      </Button>
    </form>
  )
}
