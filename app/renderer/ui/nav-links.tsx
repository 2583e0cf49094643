import {
  ChartNoAxesColumn,
  GitCommitVertical,
  Lightbulb,
  MessageSquare,
  Settings,
} from 'lucide-react'
import { useStore } from 'zustand'
import { useStores, useValue } from '../stores/hooks.ts'
import { hrefOf, type Page } from '../stores/route.ts'
import { classes } from './classes.ts'
import { useMessages } from './messages/index.ts'
import { isWorking } from './phase-dot.tsx'

const links = [
  { page: 'chat', Icon: MessageSquare },
  { page: 'learning', Icon: ChartNoAxesColumn },
  { page: 'hints', Icon: Lightbulb },
  { page: 'adapters', Icon: GitCommitVertical },
  { page: 'settings', Icon: Settings },
] as const

export function NavLinks({ onChoose }: { onChoose?: () => void }) {
  const { app, nav } = useMessages()
  const { route } = useStores()
  const open = useStore(route, (state) => state.page)
  const chatId = useStore(route, (state) => state.chatId)
  const openChat = useStore(useStores().conversation, (state) => state.chatId)
  return (
    <nav aria-label={app.navigation} className="border-t px-2 py-2">
      <ul>
        {links.map(({ page, Icon }) => (
          <li key={page}>
            <a
              href={hrefOf(page, page === 'chat' ? (chatId ?? openChat) : null)}
              aria-label={nav[page]}
              aria-current={open === page ? 'page' : undefined}
              onClick={onChoose}
              className={classes(
                'flex h-8 items-center gap-2.5 rounded-lg px-2',
                open === page
                  ? 'bg-chosen font-medium text-ink'
                  : 'text-ink-soft hover:bg-chosen/60 hover:text-ink',
              )}
            >
              <Icon aria-hidden className={classes('size-4', open === page && 'text-accent')} />
              {nav[page]}
              <Badge page={page} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Badge({ page }: { page: Page }) {
  const { nav } = useMessages()
  const hints = useValue('hints')
  const learning = useValue('learning')
  if (page === 'learning' && learning !== null && isWorking(learning.phase)) {
    return <span aria-hidden className="animate-breathe ml-auto size-2 rounded-full bg-accent" />
  }
  const waiting = hints?.filter((hint) => hint.state === 'proposed').length ?? 0
  if (page !== 'hints' || waiting === 0) return null
  return (
    <span
      title={nav.hintsWaiting(waiting)}
      className="tabular ml-auto rounded-full bg-accent-soft px-1.5 text-tiny font-medium text-accent"
    >
      {waiting}
    </span>
  )
}
