import { CircleAlert, Pencil, RotateCcw } from 'lucide-react'
import { memo, useState } from 'react'
import { useStore } from 'zustand'
import type { MessageView } from '../../../shared/contract/app.ts'
import { useStores } from '../../stores/hooks.ts'
import { hrefOf } from '../../stores/route.ts'
import { IconButton } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { HintChip } from '../../ui/hint-chip.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { Hinted } from '../../ui/tooltip.tsx'
import { Branches } from './branches.tsx'
import { RewardChip } from './reward-chip.tsx'
import { TextEditor } from './text-editor.tsx'
import { Thumbs } from './thumbs.tsx'

export interface ReplyProps {
  message: MessageView
  isLast: boolean
}

export const ReplyMessage = memo(function ReplyMessage({ message, isLast }: ReplyProps) {
  const messages = useMessages()
  const { conversation, host, attempt } = useStores()
  const live = useStore(conversation, (state) => state.live[message.id])
  const [isEditing, setEditing] = useState(false)
  const text = live ?? message.text
  const isStreaming = message.status === 'streaming'
  const teach = async (words: string): Promise<void> => {
    const isSaved = await attempt(() => host.chat.editReply({ messageId: message.id, text: words }))
    if (!isSaved) return
    setEditing(false)
    await conversation.getState().refresh()
  }
  return (
    <article aria-label={messages.chat.hone} aria-busy={isStreaming} className="message group">
      <ReplyLabel message={message} />
      {isEditing ? (
        <TextEditor
          label={messages.chat.editReply}
          text={text}
          action={messages.chat.teach}
          help={messages.chat.teachHelp}
          onSave={teach}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <ReplyText text={text} isStreaming={isStreaming} status={message.status} />
      )}
      {!isEditing && <StateWords message={message} />}
      {!isStreaming && !isEditing && (
        <ReplyTools message={message} isLast={isLast} onEdit={() => setEditing(true)} />
      )}
      {message.turn?.hints.map((hint) => (
        <HintChip key={hint.id} hint={hint} />
      ))}
    </article>
  )
})

/** Hone · v1 + 1 note · 41 tok/s */
function ReplyLabel({ message }: { message: MessageView }) {
  const { chat, app } = useMessages()
  const { turn } = message
  return (
    <div className="tabular flex h-7 flex-wrap items-center gap-x-1.5 overflow-hidden text-tiny text-ink-soft">
      <span className="font-semibold">{message.editOf === null ? chat.hone : chat.yourWords}</span>
      {message.editOf !== null && (
        <Hinted text={chat.teachesHelp}>
          <span tabIndex={0} className="rounded-lg bg-accent-soft px-1.5 text-accent">
            {chat.teaches}
          </span>
        </Hinted>
      )}
      {turn !== null && message.editOf === null && (
        <>
          <span aria-hidden>·</span>
          <a href={hrefOf('adapters')} className="hover:text-accent hover:underline">
            {app.version(turn.version)}
          </a>
          {turn.scaffoldNoteIds.length > 0 && (
            <Hinted text={chat.notesHelp}>
              <a href={hrefOf('hints')} className="hover:text-accent hover:underline">
                {chat.notes(turn.scaffoldNoteIds.length)}
              </a>
            </Hinted>
          )}
          {turn.tokensPerSecond !== null && (
            <>
              <span aria-hidden>·</span>
              <SpeedWord perSecond={turn.tokensPerSecond} firstMs={turn.timeToFirstTokenMs} />
            </>
          )}
          {turn.heldOut && (
            <>
              <span aria-hidden>·</span>
              <Hinted text={chat.heldOutHelp}>
                <span tabIndex={0}>{chat.heldOut}</span>
              </Hinted>
            </>
          )}
        </>
      )}
    </div>
  )
}

function SpeedWord({ perSecond, firstMs }: { perSecond: number; firstMs: number | null }) {
  const { chat } = useMessages()
  const word = (
    <span tabIndex={0}>{chat.speed(formatNumber(perSecond, perSecond < 10 ? 1 : 0))}</span>
  )
  return firstMs === null ? (
    word
  ) : (
    <Hinted text={chat.firstToken(formatNumber(firstMs, 0))}>{word}</Hinted>
  )
}

interface ReplyTextProps {
  text: string
  isStreaming: boolean
  status: MessageView['status']
}

function ReplyText({ text, isStreaming, status }: ReplyTextProps) {
  const { chat } = useMessages()
  if (text === '' && isStreaming) {
    return <p className="animate-breathe text-chat text-ink-faint">{chat.thinking}</p>
  }
  if (text.trim() === '' && status === 'complete') {
    return <p className="text-chat text-ink-faint italic">{chat.emptyReply}</p>
  }
  return <Markdown text={text} />
}

function StateWords({ message }: { message: MessageView }) {
  const { chat } = useMessages()
  const { turn, status } = message
  const isCut = status === 'complete' && turn?.finish === 'length'
  return (
    <>
      {turn !== null && turn.droppedMessages > 0 && (
        <p className="mt-2 text-ui text-warn">{chat.dropped(turn.droppedMessages)}</p>
      )}
      {status === 'stopped' && <p className="mt-2 text-ui text-ink-soft">{chat.stopped}</p>}
      {status === 'interrupted' && <p className="mt-2 text-ui text-warn">{chat.interrupted}</p>}
      {isCut && <p className="mt-2 text-ui text-ink-soft">{chat.cut}</p>}
      {status === 'failed' && (
        <p role="alert" className="mt-2 flex gap-2 text-ui text-bad">
          <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          <span>
            {chat.failed} {message.error}
          </span>
        </p>
      )}
    </>
  )
}

interface ToolsProps {
  message: MessageView
  isLast: boolean
  onEdit: () => void
}

function ReplyTools({ message, isLast, onEdit }: ToolsProps) {
  const { chat } = useMessages()
  const { host, attempt, conversation } = useStores()
  const { turn } = message
  const regenerate = async (): Promise<void> => {
    await attempt(() => host.chat.regenerate({ messageId: message.id }))
    await conversation.getState().refresh()
  }
  return (
    <div className="mt-1 -ml-1.5 flex h-8 items-center gap-0.5">
      {turn !== null && <RewardChip turn={turn} />}
      <Branches message={message} />
      <div
        className={classes(
          'flex items-center gap-0.5 transition-opacity',
          isLast ? '' : 'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100',
        )}
      >
        {turn !== null && message.editOf === null && <Thumbs turn={turn} />}
        <CopyButton text={message.text} label={chat.copyReply} />
        <IconButton label={chat.regenerate} onClick={() => void regenerate()}>
          <RotateCcw />
        </IconButton>
        <IconButton label={chat.editReply} onClick={onEdit}>
          <Pencil />
        </IconButton>
      </div>
    </div>
  )
}
