import { Pencil } from 'lucide-react'
import { memo, useState } from 'react'
import type { MessageView } from '../../../shared/contract/app.ts'
import { useStores } from '../../stores/hooks.ts'
import { IconButton } from '../../ui/button.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { Branches } from './branches.tsx'
import { TextEditor } from './text-editor.tsx'

export const UserMessage = memo(function UserMessage({ message }: { message: MessageView }) {
  const messages = useMessages()
  const { host, attempt, conversation } = useStores()
  const [isEditing, setEditing] = useState(false)
  const resend = async (text: string): Promise<void> => {
    const isSent = await attempt(() => host.chat.editAndResend({ messageId: message.id, text }))
    if (!isSent) return
    setEditing(false)
    await conversation.getState().refresh()
  }
  return (
    <article aria-label={messages.chat.you} className="message group">
      <div className="flex h-7 items-center gap-1">
        <span className="text-tiny font-semibold text-ink-soft">{messages.chat.you}</span>
        <Branches message={message} />
        {!isEditing && (
          <span className="opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
            <IconButton label={messages.chat.editMessage} onClick={() => setEditing(true)}>
              <Pencil />
            </IconButton>
          </span>
        )}
      </div>
      {isEditing ? (
        <TextEditor
          label={messages.chat.editMessage}
          text={message.text}
          action={messages.chat.resend}
          onSave={resend}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <div className="w-fit max-w-full rounded-lg bg-sunken px-3.5 py-2.5 text-chat break-words whitespace-pre-wrap">
          {message.text}
        </div>
      )}
    </article>
  )
})
