import { PanelRightClose, PanelRightOpen } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useStore } from 'zustand'
import type { ChatView } from '../../../shared/contract/app.ts'
import { useStores, useValue } from '../../stores/hooks.ts'
import { recall, remember } from '../../stores/memory.ts'
import { go, hrefOf } from '../../stores/route.ts'
import { IconButton } from '../../ui/button.tsx'
import { useMedia } from '../../ui/media.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Toggle } from '../../ui/switch.tsx'
import { Failed, Loading } from '../../ui/states.tsx'
import { Hinted } from '../../ui/tooltip.tsx'
import { Composer } from './composer.tsx'
import { FirstMessage } from './first-message.tsx'
import { MessageList } from './message-list.tsx'
import { Rail } from './rail.tsx'
import { formatCount } from '../../ui/format.ts'

const railKey = 'rail'

export function ChatPage() {
  const { route, conversation } = useStores()
  const chatId = useStore(route, (state) => state.chatId)
  const isWide = useMedia('(min-width: 1100px)')
  const [isRailWanted, setRailWanted] = useState(() => recall(railKey) !== 'folded')
  const [isRailForced, setRailForced] = useState(false)
  const isRailOpen = isWide ? isRailWanted : isRailForced

  useEffect(() => conversation.getState().open(chatId), [conversation, chatId])

  const fold = (open: boolean): void => {
    if (!isWide) return setRailForced(open)
    setRailWanted(open)
    remember(railKey, open ? null : 'folded')
  }
  return (
    <div className="relative flex h-full min-w-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <Header isRailOpen={isRailOpen} onFold={fold} />
        {chatId === null ? <NewChat /> : <OpenChat key={chatId} />}
      </div>
      {isRailOpen && <Rail isOver={!isWide} />}
    </div>
  )
}

function Header({ isRailOpen, onFold }: { isRailOpen: boolean; onFold: (open: boolean) => void }) {
  const messages = useMessages()
  const { conversation, actions } = useStores()
  const view = useStore(conversation, (state) =>
    state.view.status === 'ready' ? state.view.value : null,
  )
  const system = useValue('system')
  const learning = useValue('learning')
  const chat = view?.chat ?? null
  const title = chat === null || chat.title === '' ? messages.chats.untitled : chat.title
  const model = system?.model?.name ?? null
  return (
    <header className="flex h-12 shrink-0 items-center gap-3 border-b px-4">
      <h1 className="min-w-0 flex-1 truncate font-semibold">{title}</h1>
      {chat !== null && (
        <Hinted text={messages.chat.learnHelp}>
          <label className="flex items-center gap-2 text-tiny text-ink-soft">
            <span className="hidden lg:inline">{messages.chat.learnSwitch}</span>
            <Toggle
              label={messages.chat.learnSwitch}
              checked={!chat.learn}
              onChange={(off) => void actions.setLearn(chat.id, !off)}
            />
          </label>
        </Hinted>
      )}
      <a
        href={hrefOf('adapters')}
        className="tabular flex max-w-64 min-w-0 rounded-lg px-2 py-1 text-tiny text-ink-soft hover:bg-sunken hover:text-ink"
      >
        <span className="min-w-0 truncate">{model ?? messages.system.noModel}</span>
        {learning !== null && model !== null && (
          <span className="shrink-0 whitespace-pre">
            {` · ${messages.app.version(learning.activeVersion)}`}
          </span>
        )}
      </a>
      <IconButton
        label={isRailOpen ? messages.chat.foldRail : messages.chat.unfoldRail}
        aria-expanded={isRailOpen}
        onClick={() => onFold(!isRailOpen)}
      >
        {isRailOpen ? <PanelRightClose /> : <PanelRightOpen />}
      </IconButton>
    </header>
  )
}

function NewChat() {
  const { conversation } = useStores()
  const [suggestion, setSuggestion] = useState<string | null>(null)
  return (
    <>
      <FirstMessage onChoose={setSuggestion} />
      <Composer
        draftKey="new"
        suggestion={suggestion}
        onSend={async (text) => {
          const chatId = await conversation.getState().send(text)
          if (conversation.getState().chatId === null) go('chat', chatId)
        }}
      />
    </>
  )
}

function OpenChat() {
  const { conversation } = useStores()
  const view = useStore(conversation, (state) => state.view)
  const chatId = useStore(conversation, (state) => state.chatId)
  if (view.status === 'loading') {
    return (
      <div className="mx-auto w-full max-w-[720px] flex-1 px-4 pt-8">
        <Loading rows={6} />
      </div>
    )
  }
  if (view.status === 'failed') {
    return (
      <div className="mx-auto w-full max-w-[720px] flex-1 px-4 pt-8">
        <Failed error={view.error} onRetry={() => void conversation.getState().refresh()} />
      </div>
    )
  }
  return <ReadyChat key={chatId} view={view.value} />
}

function ReadyChat({ view }: { view: ChatView }) {
  const messages = useMessages()
  const { conversation } = useStores()
  const [suggestion, setSuggestion] = useState<string | null>(null)
  const isEmpty = view.messages.length === 0
  const isTight = view.contextTokens > 0.75 * view.contextSize
  return (
    <>
      {isEmpty ? <FirstMessage onChoose={setSuggestion} /> : <MessageList view={view} />}
      <Composer
        draftKey={view.chat.id}
        suggestion={suggestion}
        onSend={(text) => conversation.getState().send(text)}
        {...(isTight && {
          footnote: messages.chat.context(
            formatCount(view.contextTokens),
            formatCount(view.contextSize),
          ),
        })}
      />
    </>
  )
}
