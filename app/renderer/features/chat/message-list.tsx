import { ArrowDown } from 'lucide-react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useStore } from 'zustand'
import type { ChatView } from '../../../shared/contract/app.ts'
import { streamingMessage } from '../../stores/conversation.ts'
import { useStores } from '../../stores/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { ReplyMessage } from './reply-message.tsx'
import { UserMessage } from './user-message.tsx'

/** A long chat opens with its newest part; the rest comes when it is asked for. */
const firstShown = 60
const moreShown = 120
/** Closer to the end than this, the page follows the growing reply. */
const nearPx = 80

export function MessageList({ view }: { view: ChatView }) {
  const messages = useMessages()
  const { conversation } = useStores()
  const box = useRef<HTMLDivElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const [limit, setLimit] = useState(firstShown)
  const { isFollowing, follow } = useFollowing(box, column)
  const heightBefore = useRef<number | null>(null)

  useLayoutEffect(() => {
    const target = box.current
    if (target === null || heightBefore.current === null) return
    target.scrollTop += target.scrollHeight - heightBefore.current
    heightBefore.current = null
  }, [limit])

  const lastUserId = view.messages.findLast((message) => message.role === 'user')?.id
  useEffect(() => follow(), [lastUserId, follow])

  const hidden = Math.max(0, view.messages.length - limit)
  const shown = view.messages.slice(hidden)
  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} className="scroll-quiet h-full overflow-y-auto">
        <div
          ref={column}
          role="log"
          aria-live="off"
          aria-label={messages.chat.messages}
          className="mx-auto flex max-w-[752px] flex-col gap-6 px-4 pt-6 pb-8"
        >
          {hidden > 0 && (
            <Button
              look="quiet"
              className="self-center"
              onClick={() => {
                heightBefore.current = box.current?.scrollHeight ?? null
                setLimit(limit + moreShown)
              }}
            >
              {messages.chat.earlier}
            </Button>
          )}
          {shown.map((message, index) =>
            message.role === 'user' ? (
              <UserMessage key={message.id} message={message} />
            ) : message.role === 'assistant' ? (
              <ReplyMessage
                key={message.id}
                message={message}
                isLast={index === shown.length - 1}
              />
            ) : null,
          )}
        </div>
      </div>
      {!isFollowing && (
        <button
          type="button"
          onClick={follow}
          aria-label={messages.chat.toLatest}
          title={messages.chat.toLatest}
          className="animate-rise absolute bottom-3 left-1/2 inline-flex size-8 -translate-x-1/2 items-center justify-center rounded-full border bg-raised text-ink-soft shadow-menu hover:text-accent"
        >
          <ArrowDown aria-hidden className="size-4" />
        </button>
      )}
      <Announcer conversation={conversation} />
    </div>
  )
}

/** Stays at the end while the content grows, unless the reader scrolled away. */
function useFollowing(
  box: React.RefObject<HTMLDivElement | null>,
  column: React.RefObject<HTMLDivElement | null>,
) {
  const [isFollowing, setFollowing] = useState(true)
  const wants = useRef(true)
  const [follow] = useState(() => () => {
    wants.current = true
    setFollowing(true)
    const target = box.current
    if (target !== null) target.scrollTop = target.scrollHeight
  })
  useLayoutEffect(() => {
    const target = box.current
    const content = column.current
    if (target === null || content === null) return
    target.scrollTop = target.scrollHeight
    let lastTop = target.scrollTop
    const onScroll = (): void => {
      const left = target.scrollHeight - target.scrollTop - target.clientHeight
      // Only the reader's own way up lets go; growing content never does.
      if (left <= nearPx) wants.current = true
      else if (target.scrollTop < lastTop) wants.current = false
      lastTop = target.scrollTop
      setFollowing(wants.current)
    }
    const observer = new ResizeObserver(() => {
      if (wants.current) target.scrollTop = target.scrollHeight
    })
    observer.observe(content)
    observer.observe(target)
    target.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      target.removeEventListener('scroll', onScroll)
    }
  }, [box, column])
  return { isFollowing, follow }
}

type ConversationStore = ReturnType<typeof useStores>['conversation']

/** Says when a reply begins and ends, not every token. */
function Announcer({ conversation }: { conversation: ConversationStore }) {
  const messages = useMessages()
  const isStreaming = useStore(
    conversation,
    (state) => state.view.status === 'ready' && streamingMessage(state.view.value) !== null,
  )
  const [hasWritten, setWritten] = useState(false)
  useEffect(() => {
    if (isStreaming) setWritten(true)
  }, [isStreaming])
  return (
    <p role="status" aria-live="polite" className="sr-only">
      {isStreaming ? messages.chat.writing : hasWritten ? messages.chat.finished : ''}
    </p>
  )
}
