import { ArrowUpRight } from 'lucide-react'
import { useMessages } from '../../ui/messages/index.ts'

/** The empty state of a chat: what this is, and three things to try. */
export function FirstMessage({ onChoose }: { onChoose: (text: string) => void }) {
  const { chat } = useMessages()
  return (
    <div className="scroll-quiet flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="mx-auto my-auto w-full max-w-[752px] px-4 pt-8 pb-10">
        <h2 className="text-title font-semibold tracking-tight">{chat.emptyTitle}</h2>
        <p className="mt-1 max-w-[52ch] text-chat text-ink-soft">{chat.emptyText}</p>
        <ul aria-label={chat.suggestionsLabel} className="mt-6 flex flex-col border-t">
          {chat.suggestions.map((text) => (
            <li key={text} className="border-b">
              <button
                type="button"
                onClick={() => onChoose(text)}
                className="group flex w-full items-center justify-between gap-3 px-1 py-3 text-left text-chat text-ink-soft hover:text-accent"
              >
                {text}
                <ArrowUpRight
                  aria-hidden
                  className="size-4 shrink-0 text-ink-faint transition-colors group-hover:text-accent"
                />
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}
