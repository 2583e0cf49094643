import { MessageSquareText } from 'lucide-react'
import { useState } from 'react'
import type { Hint, HintState } from '../../../shared/domain/hint.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { hrefOf } from '../../stores/route.ts'
import { formatWhen } from '../../ui/format.ts'
import { HintChip } from '../../ui/hint-chip.tsx'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Pick } from '../../ui/select.tsx'
import { Empty, Ready } from '../../ui/states.tsx'
import { filterHints, hintStates, type HintFilter } from './hint-filter.ts'

/** Long inboxes are drawn in portions. */
const portion = 60

export function Inbox() {
  const messages = useMessages()
  const { hints } = useStores()
  const data = useResource('hints')
  const [filter, setFilter] = useState<HintFilter>('all')
  const words = messages.hints
  return (
    <Section
      title={words.inbox}
      aside={
        <Pick
          label={words.filter}
          value={filter}
          onChange={(value) => setFilter(value as HintFilter)}
          className="w-48"
        >
          <option value="all">{words.all}</option>
          {hintStates.map((state: HintState) => (
            <option key={state} value={state}>
              {messages.hint.states[state]}
            </option>
          ))}
        </Pick>
      }
    >
      <Ready data={data} onRetry={() => void hints.getState().refresh()} rows={5}>
        {(list) => <HintList list={list} filter={filter} />}
      </Ready>
    </Section>
  )
}

function HintList({ list, filter }: { list: Hint[]; filter: HintFilter }) {
  const { hints: words, chat } = useMessages()
  const [limit, setLimit] = useState(portion)
  const shown = filterHints(list, filter)
  if (shown.length === 0) {
    return (
      <div className="rounded-lg border border-dashed">
        <Empty>{list.length === 0 ? words.inboxEmpty : words.inboxFiltered}</Empty>
      </div>
    )
  }
  return (
    <>
      <ul aria-label={words.inbox} className="flex flex-col divide-y border-t">
        {shown.slice(0, limit).map((hint) => (
          <InboxRow key={hint.id} hint={hint} />
        ))}
      </ul>
      {shown.length > limit && (
        <button
          type="button"
          onClick={() => setLimit(limit + portion)}
          className="mt-3 text-accent hover:underline"
        >
          {chat.earlier}
        </button>
      )}
    </>
  )
}

function InboxRow({ hint }: { hint: Hint }) {
  const messages = useMessages()
  const language = useLanguage()
  return (
    <li className="py-3">
      <p className="flex items-center gap-2 text-tiny text-ink-faint">
        <span>{messages.hint.sources[hint.source]}</span>
        <span aria-hidden>·</span>
        <span>{formatWhen(hint.createdAt, language)}</span>
        <a
          href={hrefOf('chat', hint.chatId)}
          className="ml-auto inline-flex items-center gap-1 hover:text-accent hover:underline"
        >
          <MessageSquareText aria-hidden className="size-3" />
          {messages.hints.openChat}
        </a>
      </p>
      {hint.quote !== null && (
        <blockquote className="mt-1.5 border-l-2 border-line-strong pl-3 text-ink-soft">
          <span className="sr-only">{messages.hint.from}: </span>“{hint.quote}”
        </blockquote>
      )}
      <HintChip hint={hint} />
    </li>
  )
}
