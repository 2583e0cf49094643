import { PanelLeft } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useStore } from 'zustand'
import { AdaptersPage } from './features/adapters/adapters-page.tsx'
import { ChatList } from './features/chat/chat-list.tsx'
import { ChatPage } from './features/chat/chat-page.tsx'
import { HintsPage } from './features/hints/hints-page.tsx'
import { SettingsPage } from './features/settings/settings-page.tsx'
import { useStores } from './stores/hooks.ts'
import { recall, remember } from './stores/memory.ts'
import { go, type Page } from './stores/route.ts'
import { IconButton } from './ui/button.tsx'
import { classes } from './ui/classes.ts'
import { ConnectionBar } from './ui/connection-bar.tsx'
import { CrashGuard } from './ui/crash-guard.tsx'
import { useMedia } from './ui/media.ts'
import { useDocumentLanguage } from './ui/document-language.ts'
import { useMessages } from './ui/messages/index.ts'
import { NavLinks } from './ui/nav-links.tsx'
import { Notices } from './ui/notices.tsx'
import { useAppliedTheme } from './ui/theme.ts'
import { TooltipProvider } from './ui/tooltip.tsx'

// The charts are a third of the program, and a chat does not need them.
const LearningPage = lazy(async () => {
  const { LearningPage: page } = await import('./features/learning/learning-page.tsx')
  return { default: page }
})

const pages: Readonly<Record<Page, React.ComponentType>> = {
  chat: ChatPage,
  learning: LearningPage,
  hints: HintsPage,
  adapters: AdaptersPage,
  settings: SettingsPage,
}
const lastChatKey = 'last-chat'

export function App() {
  const messages = useMessages()
  const { route } = useStores()
  const page = useStore(route, (state) => state.page)
  useAppliedTheme()
  useDocumentLanguage()
  useLastChat()
  const Shown = pages[page]
  const title = messages.nav[page]
  useEffect(() => {
    document.title = page === 'chat' ? messages.app.name : `${title} · ${messages.app.name}`
  }, [page, title, messages])
  return (
    <TooltipProvider delayDuration={350}>
      <div className="flex h-full flex-col">
        <ConnectionBar />
        <div className="flex min-h-0 flex-1">
          <Sidebar />
          <main id="content" className="min-w-0 flex-1">
            <CrashGuard key={page}>
              <Suspense fallback={null}>
                <Shown />
              </Suspense>
            </CrashGuard>
          </main>
        </div>
      </div>
      <Notices />
    </TooltipProvider>
  )
}

/** Narrow windows have the sidebar over the page, and only while it is wanted. */
function Sidebar() {
  const { app } = useMessages()
  const isRoomy = useMedia('(min-width: 760px)')
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  if (!isRoomy && !isOpen) {
    return (
      <div className="flex w-11 shrink-0 flex-col items-center border-r bg-side pt-2.5">
        <IconButton label={app.openSidebar} aria-expanded={false} onClick={() => setOpen(true)}>
          <PanelLeft />
        </IconButton>
      </div>
    )
  }
  return (
    <>
      {!isRoomy && <div aria-hidden className="fixed inset-0 z-20 bg-shade" onClick={close} />}
      <div
        className={classes(
          'flex w-[232px] shrink-0 flex-col border-r bg-side',
          !isRoomy && 'fixed inset-y-0 left-0 z-30 shadow-menu',
        )}
        onKeyDown={(event) => event.key === 'Escape' && !isRoomy && close()}
      >
        <div className="flex h-12 shrink-0 items-center justify-between px-4">
          <Brand />
          {!isRoomy && (
            <IconButton label={app.closeSidebar} aria-expanded onClick={close}>
              <PanelLeft />
            </IconButton>
          )}
        </div>
        <ChatList onChoose={close} />
        <NavLinks onChoose={close} />
      </div>
    </>
  )
}

/** A whetstone and a blade's edge in two strokes. */
function Brand() {
  const { app } = useMessages()
  return (
    <span className="flex items-center gap-2 font-semibold tracking-tight">
      <svg aria-hidden viewBox="0 0 20 20" className="size-5">
        <path d="M2 15.5h16" stroke="var(--line-strong)" strokeWidth="3" strokeLinecap="round" />
        <path d="M3.5 11.5 16.5 3.5 12.5 11.5Z" fill="var(--accent)" />
      </svg>
      {app.name}
    </span>
  )
}

/** A fresh page opens where the user was, if that chat is still there. */
function useLastChat(): void {
  const { route, chats } = useStores()
  useEffect(() => {
    const hadPlace = window.location.hash !== ''
    const stopRemembering = route.subscribe(({ chatId }) => {
      if (chatId !== null) remember(lastChatKey, chatId)
    })
    if (hadPlace) return stopRemembering
    const stopWaiting = chats.subscribe(({ data }) => {
      if (data.status !== 'ready') return
      stopWaiting()
      if (window.location.hash !== '') return
      const wanted = recall(lastChatKey)
      const newest = data.value.toSorted((a, b) => b.updatedAt - a.updatedAt)[0]
      const target = data.value.find((chat) => chat.id === wanted) ?? newest
      if (target !== undefined) go('chat', target.id)
    })
    return () => {
      stopRemembering()
      stopWaiting()
    }
  }, [route, chats])
}
