import { CircleAlert, Trash2, X } from 'lucide-react'
import { useEffect } from 'react'
import { useStore } from 'zustand'
import { useStores } from '../stores/hooks.ts'
import type { Notice } from '../stores/notices.ts'
import { Button, IconButton } from './button.tsx'
import { useMessages } from './messages/index.ts'
import { ErrorWords } from './states.tsx'

/** Long enough to read and to reach the button; errors stay until they are dismissed. */
const undoMs = 12_000

export function Notices() {
  const { app } = useMessages()
  const { notices } = useStores()
  const list = useStore(notices, (state) => state.list)
  return (
    <section
      aria-label={app.notices}
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-24 z-50 flex w-[min(380px,calc(100vw-32px))] flex-col gap-2"
    >
      {list.map((notice) => (
        <NoticeCard key={notice.id} notice={notice} />
      ))}
    </section>
  )
}

function NoticeCard({ notice }: { notice: Notice }) {
  const messages = useMessages()
  const { notices } = useStores()
  const { body, id } = notice
  useEffect(() => {
    if (body.kind === 'error') return
    const timer = setTimeout(() => notices.getState().dismiss(id), undoMs)
    return () => clearTimeout(timer)
  }, [body.kind, id, notices])
  const dismiss = (): void => notices.getState().dismiss(id)
  return (
    <div
      role={body.kind === 'error' ? 'alert' : undefined}
      className="animate-rise pointer-events-auto flex items-center gap-2.5 rounded-lg border bg-raised py-2 pr-2 pl-3 shadow-menu"
    >
      {body.kind === 'error' ? (
        <CircleAlert aria-hidden className="size-4 shrink-0 text-bad" />
      ) : (
        <Trash2 aria-hidden className="size-4 shrink-0 text-ink-faint" />
      )}
      <p className="min-w-0 flex-1 break-words">
        {body.kind === 'error' ? (
          <ErrorWords error={body.error} />
        ) : (
          messages.chats.removed(body.title === '' ? messages.chats.untitled : body.title)
        )}
      </p>
      {body.kind === 'deleted' && (
        <Button
          look="quiet"
          isSmall
          className="text-accent"
          onClick={() => {
            dismiss()
            body.undo()
          }}
        >
          {messages.app.undo}
        </Button>
      )}
      <IconButton label={messages.app.dismiss} onClick={dismiss}>
        <X />
      </IconButton>
    </div>
  )
}
