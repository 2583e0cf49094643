import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { useMessages } from '../../ui/messages/index.ts'

export interface TextEditorProps {
  label: string
  text: string
  action: string
  help?: string
  onSave: (text: string) => Promise<void>
  onCancel: () => void
}

/** In the place of a text that is being rewritten. Ctrl or ⌘ with Enter saves, Escape leaves. */
export function TextEditor({ label, text, action, help, onSave, onCancel }: TextEditorProps) {
  const messages = useMessages()
  const [draft, setDraft] = useState(text)
  const [isSaving, setSaving] = useState(false)
  const canSave = draft.trim() !== '' && draft !== text && !isSaving
  const save = async (): Promise<void> => {
    if (!canSave) return
    setSaving(true)
    await onSave(draft.trim())
    setSaving(false)
  }
  return (
    <div>
      <textarea
        autoFocus
        aria-label={label}
        value={draft}
        rows={Math.min(16, Math.max(3, draft.split('\n').length + 1))}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save()
        }}
        className="field text-chat"
      />
      <div className="mt-2 flex items-center justify-end gap-2">
        {help !== undefined && <p className="mr-auto text-tiny text-ink-soft">{help}</p>}
        <Button onClick={onCancel}>{messages.app.cancel}</Button>
        <Button look="primary" disabled={!canSave} onClick={() => void save()}>
          {action}
        </Button>
      </div>
    </div>
  )
}
