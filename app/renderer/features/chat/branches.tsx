import { ChevronLeft, ChevronRight } from 'lucide-react'
import type { MessageView } from '../../../shared/contract/app.ts'
import { useStores } from '../../stores/hooks.ts'
import { useMessages } from '../../ui/messages/index.ts'

/** ‹ 2/3 ›: the versions of one message, where there is more than one. */
export function Branches({ message }: { message: MessageView }) {
  const { chat } = useMessages()
  const { host, attempt, conversation } = useStores()
  const count = message.siblingIds.length
  const index = message.siblingIds.indexOf(message.id)
  if (count < 2 || index < 0) return null
  const choose = async (messageId: string | undefined): Promise<void> => {
    if (messageId === undefined) return
    await attempt(() => host.chat.selectBranch({ messageId }))
    await conversation.getState().refresh()
  }
  const arrow =
    'inline-flex size-6 items-center justify-center rounded-lg hover:bg-sunken hover:text-ink disabled:opacity-35'
  return (
    <span
      role="group"
      aria-label={chat.branches(index + 1, count)}
      className="inline-flex items-center text-ink-faint"
    >
      <button
        type="button"
        aria-label={chat.previousBranch}
        disabled={index === 0}
        onClick={() => void choose(message.siblingIds[index - 1])}
        className={arrow}
      >
        <ChevronLeft aria-hidden className="size-3.5" />
      </button>
      <span className="tabular text-tiny">{chat.branch(index + 1, count)}</span>
      <button
        type="button"
        aria-label={chat.nextBranch}
        disabled={index === count - 1}
        onClick={() => void choose(message.siblingIds[index + 1])}
        className={arrow}
      >
        <ChevronRight aria-hidden className="size-3.5" />
      </button>
    </span>
  )
}
