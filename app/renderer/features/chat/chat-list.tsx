import { Ellipsis, EyeOff, Search, SquarePen } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { useMemo, useState } from 'react'
import { useStore } from 'zustand'
import type { Chat } from '../../../shared/domain/chat.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { go, hrefOf } from '../../stores/route.ts'
import { classes } from '../../ui/classes.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Empty, Ready } from '../../ui/states.tsx'
import { groupByDay, matching } from './chat-groups.ts'

export function ChatList({ onChoose }: { onChoose?: () => void }) {
  const messages = useMessages()
  const { chats } = useStores()
  const data = useResource('chats')
  const [words, setWords] = useState('')
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-col gap-1 px-2">
        <button
          type="button"
          onClick={() => {
            go('chat')
            onChoose?.()
          }}
          className="flex h-8 items-center gap-2 rounded-lg px-2 font-medium text-ink hover:bg-chosen/60"
        >
          <SquarePen aria-hidden className="size-4 text-accent" />
          {messages.chats.newChat}
        </button>
        <label className="flex h-8 items-center gap-2 rounded-lg px-2 text-ink-soft focus-within:bg-chosen/60 hover:bg-chosen/60">
          <Search aria-hidden className="size-4" />
          <input
            type="search"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            aria-label={messages.chats.search}
            placeholder={messages.chats.search}
            className="min-w-0 flex-1 bg-transparent outline-none"
          />
        </label>
      </div>
      <nav
        aria-label={messages.chats.list}
        className="scroll-quiet mt-2 min-h-0 flex-1 overflow-y-auto px-2 pb-3"
      >
        <Ready data={data} onRetry={() => void chats.getState().refresh()}>
          {(list) => <Groups list={list} words={words} {...(onChoose && { onChoose })} />}
        </Ready>
      </nav>
    </div>
  )
}

function Groups({ list, words, onChoose }: { list: Chat[]; words: string; onChoose?: () => void }) {
  const messages = useMessages()
  const groups = useMemo(() => groupByDay(matching(list, words), Date.now()), [list, words])
  if (list.length === 0) return <Empty>{messages.chats.empty}</Empty>
  if (groups.length === 0) return <Empty>{messages.chats.nothingFound}</Empty>
  return groups.map((group) => (
    <section key={group.day} aria-label={messages.chats[group.day]} className="mt-2">
      <h2 className="px-2 py-1 text-tiny text-ink-faint">{messages.chats[group.day]}</h2>
      <ul>
        {group.chats.map((chat) => (
          <ChatRow key={chat.id} chat={chat} {...(onChoose && { onChoose })} />
        ))}
      </ul>
    </section>
  ))
}

function ChatRow({ chat, onChoose }: { chat: Chat; onChoose?: () => void }) {
  const messages = useMessages()
  const { route } = useStores()
  const isOpen = useStore(route, (state) => state.page === 'chat' && state.chatId === chat.id)
  const [isRenaming, setRenaming] = useState(false)
  const title = chat.title === '' ? messages.chats.untitled : chat.title
  if (isRenaming) return <RenameField chat={chat} onDone={() => setRenaming(false)} />
  return (
    <li
      className={classes(
        'group flex items-center rounded-lg pr-1 focus-within:bg-chosen/60',
        isOpen ? 'bg-chosen text-ink' : 'text-ink-soft hover:bg-chosen/60 hover:text-ink',
      )}
    >
      <a
        href={hrefOf('chat', chat.id)}
        aria-current={isOpen ? 'page' : undefined}
        onClick={onChoose}
        onDoubleClick={() => setRenaming(true)}
        title={title}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-lg px-2 py-1.5"
      >
        <span className="truncate">{title}</span>
        {!chat.learn && (
          <EyeOff
            aria-label={messages.chats.learnOff}
            className="size-3.5 shrink-0 text-ink-faint"
          />
        )}
      </a>
      <RowMenu chat={chat} title={title} onRename={() => setRenaming(true)} />
    </li>
  )
}

const item =
  'flex h-8 cursor-pointer items-center rounded-lg px-2.5 outline-none data-[highlighted]:bg-sunken'

function RowMenu({ chat, title, onRename }: { chat: Chat; title: string; onRename: () => void }) {
  const messages = useMessages()
  const { actions } = useStores()
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <button
          type="button"
          aria-label={messages.chats.menu(title)}
          className="inline-flex size-6 items-center justify-center rounded-lg text-ink-faint opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 hover:text-ink data-[state=open]:opacity-100"
        >
          <Ellipsis aria-hidden className="size-4" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="start"
          sideOffset={4}
          className="z-40 min-w-44 rounded-lg border bg-raised p-1 text-ui shadow-menu"
        >
          <DropdownMenu.Item className={item} onSelect={onRename}>
            {messages.chats.rename}
          </DropdownMenu.Item>
          <DropdownMenu.CheckboxItem
            className={classes(item, 'justify-between gap-4')}
            checked={!chat.learn}
            onCheckedChange={(off) => void actions.setLearn(chat.id, !off)}
          >
            {messages.chat.learnSwitch}
            <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
          </DropdownMenu.CheckboxItem>
          <DropdownMenu.Item
            className={classes(item, 'text-bad')}
            onSelect={() => void actions.removeChat(chat)}
          >
            {messages.chats.remove}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function RenameField({ chat, onDone }: { chat: Chat; onDone: () => void }) {
  const messages = useMessages()
  const { actions } = useStores()
  const [title, setTitle] = useState(chat.title)
  const save = (): void => {
    const next = title.trim()
    if (next !== '' && next !== chat.title) void actions.renameChat(chat.id, next)
    onDone()
  }
  return (
    <li>
      <input
        autoFocus
        aria-label={messages.chats.titleField}
        value={title}
        maxLength={200}
        onChange={(event) => setTitle(event.target.value)}
        onFocus={(event) => event.target.select()}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) save()
          if (event.key === 'Escape') onDone()
        }}
        className="field"
      />
    </li>
  )
}
