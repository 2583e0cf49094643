import { Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Note } from '../../../shared/domain/hint.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Confirm } from '../../ui/popup.tsx'
import { Empty, Ready } from '../../ui/states.tsx'
import { Toggle } from '../../ui/switch.tsx'
import { checkWords, scopeWords, stateWords } from './note-words.ts'

export function Notes() {
  const { hints: words } = useMessages()
  const { notes } = useStores()
  const data = useResource('notes')
  return (
    <Section title={words.notes}>
      <Ready data={data} onRetry={() => void notes.getState().refresh()}>
        {(list) =>
          list.length === 0 ? (
            <div className="rounded-lg border border-dashed">
              <Empty>{words.notesEmpty}</Empty>
            </div>
          ) : (
            <ul aria-label={words.notes} className="flex flex-col gap-2">
              {list
                .toSorted((a, b) => b.updatedAt - a.updatedAt)
                .map((note) => (
                  <NoteCard key={note.id} note={note} />
                ))}
            </ul>
          )
        }
      </Ready>
    </Section>
  )
}

function useNoteActions(note: Note) {
  const { host, attempt, notes } = useStores()
  const act = async (action: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await attempt(action)
    await notes.getState().refresh()
    return isDone
  }
  const noteId = note.id
  return {
    rewrite: (text: string) => act(() => host.notes.update({ noteId, text })),
    use: (isUsed: boolean) =>
      act(() => host.notes.update({ noteId, state: isUsed ? 'prompt' : 'off' })),
    remove: () => act(() => host.notes.remove({ noteId })),
  }
}

const stateColors: Readonly<Record<Note['state'], string>> = {
  prompt: 'text-accent',
  learned: 'text-good',
  off: 'text-ink-faint',
}

function NoteCard({ note }: { note: Note }) {
  const messages = useMessages()
  const words = messages.hints
  const actions = useNoteActions(note)
  const [isEditing, setEditing] = useState(false)
  const [isRemoving, setRemoving] = useState(false)
  if (isEditing) {
    return (
      <li>
        <NoteEditor
          text={note.text}
          onSave={async (text) => {
            if (await actions.rewrite(text)) setEditing(false)
          }}
          onCancel={() => setEditing(false)}
        />
      </li>
    )
  }
  return (
    <li className="group rounded-lg border bg-card px-3.5 py-2.5">
      <div className="flex items-start gap-3">
        <p
          className={classes(
            'min-w-0 flex-1 text-chat break-words',
            note.state === 'off' && 'text-ink-faint',
          )}
        >
          {note.text}
        </p>
        <div className="flex items-center gap-1 pt-0.5">
          <IconButton label={words.editNote} onClick={() => setEditing(true)}>
            <Pencil />
          </IconButton>
          <IconButton label={words.removeNote} onClick={() => setRemoving(true)}>
            <Trash2 />
          </IconButton>
          <Toggle
            label={words.useNote(note.text)}
            checked={note.state !== 'off'}
            onChange={(isUsed) => void actions.use(isUsed)}
          />
        </div>
      </div>
      <p className="mt-1 flex flex-wrap gap-x-2 text-tiny text-ink-soft">
        <span className={classes('font-medium', stateColors[note.state])}>
          {stateWords(note, messages)}
        </span>
        <span aria-hidden>·</span>
        <span className="tabular">{words.said(note.count)}</span>
        <span aria-hidden>·</span>
        <span>{checkWords(note, messages)}</span>
      </p>
      <p className="text-tiny text-ink-faint">{scopeWords(note, messages)}</p>
      <Confirm
        open={isRemoving}
        title={words.removeTitle}
        text={<p>{words.removeText}</p>}
        action={words.remove}
        look="danger"
        onConfirm={() => void actions.remove()}
        onClose={() => setRemoving(false)}
      />
    </li>
  )
}

interface NoteEditorProps {
  text: string
  onSave: (text: string) => Promise<void>
  onCancel: () => void
}

function NoteEditor({ text, onSave, onCancel }: NoteEditorProps) {
  const messages = useMessages()
  const [draft, setDraft] = useState(text)
  const canSave = draft.trim() !== ''
  return (
    <form
      className="rounded-lg border bg-card p-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (canSave) void onSave(draft.trim())
      }}
    >
      <textarea
        autoFocus
        aria-label={messages.hints.noteText}
        value={draft}
        rows={2}
        maxLength={2000}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onCancel()}
        className="field"
      />
      <div className="mt-2 flex justify-end gap-2">
        <Button onClick={onCancel}>{messages.app.cancel}</Button>
        <Button type="submit" look="primary" disabled={!canSave}>
          {messages.app.save}
        </Button>
      </div>
    </form>
  )
}
