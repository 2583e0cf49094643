import { createStore } from 'zustand/vanilla'
import type { ChatView, MessageView } from '../../shared/contract/app.ts'
import { AppError } from '../../shared/errors.ts'
import type { Host } from '../rpc/client.ts'
import { toClientError } from '../rpc/errors.ts'
import type { Loadable } from './resource.ts'
import { mergeStream } from './streaming.ts'

export interface ConversationState {
  chatId: string | null
  view: Loadable<ChatView>
  /** Text of replies that are being written, by message id. */
  live: Readonly<Record<string, string>>
  open: (chatId: string | null) => void
  refresh: () => Promise<void>
  token: (messageId: string, text: string) => void
  /** Stores the message in this chat, or in a new one; throws an `AppError` when that fails. */
  send: (text: string) => Promise<string>
}

/** About 30 frames a second: smooth to read, and the page stays free for typing. */
const flushMs = 33

export function streamingMessage(view: ChatView): MessageView | null {
  const last = view.messages.at(-1)
  return last?.role === 'assistant' && last.status === 'streaming' ? last : null
}

/** Keeps texts that are still growing, drops those whose final form is in the view. */
export function settleLive(
  live: Readonly<Record<string, string>>,
  messages: readonly MessageView[],
): Record<string, string> {
  const next = { ...live }
  for (const message of messages) {
    if (message.status === 'streaming') {
      next[message.id] = mergeStream(message.text, next[message.id] ?? '')
    } else {
      delete next[message.id]
    }
  }
  return next
}

export function createConversation(host: Host, defer = setTimeout) {
  let waiting: Record<string, string> = {}
  let flushPlanned = false
  let readCount = 0

  return createStore<ConversationState>()((set, get) => {
    function flush(): void {
      flushPlanned = false
      const arrived = waiting
      waiting = {}
      const { view } = get()
      const known = view.status === 'ready' ? view.value.messages : []
      const live = { ...get().live }
      for (const [id, text] of Object.entries(arrived)) {
        const message = known.find((candidate) => candidate.id === id)
        if (message !== undefined && message.status !== 'streaming') continue
        live[id] = (live[id] ?? message?.text ?? '') + text
      }
      set({ live })
    }

    async function read(chatId: string): Promise<void> {
      readCount += 1
      const mine = readCount
      const isStale = (): boolean => mine !== readCount || get().chatId !== chatId
      try {
        const value = await host.chats.view({ chatId })
        if (isStale()) return
        flush()
        set(({ live }) => ({
          view: { status: 'ready', value },
          live: settleLive(live, value.messages),
        }))
      } catch (thrown) {
        if (isStale()) return
        const error = toClientError(thrown)
        // What is on the screen stays; the connection bar or the next event brings the rest.
        if (get().view.status !== 'ready' || error.code === 'not-found') {
          set({ view: { status: 'failed', error } })
        }
      }
    }

    return {
      chatId: null,
      view: { status: 'loading' },
      live: {},
      open(chatId) {
        if (chatId === get().chatId && get().view.status === 'ready') return
        waiting = {}
        set({ chatId, view: { status: 'loading' }, live: {} })
        if (chatId !== null) void read(chatId)
      },
      async refresh() {
        const { chatId } = get()
        if (chatId !== null) await read(chatId)
      },
      token(messageId, text) {
        waiting[messageId] = (waiting[messageId] ?? '') + text
        if (flushPlanned) return
        flushPlanned = true
        defer(flush, flushMs)
      },
      async send(text) {
        const words = text.trim()
        if (words === '') throw new AppError('invalid-input', '')
        const { chatId } = get()
        const target = chatId ?? (await host.chats.create()).id
        await host.chat.send({ chatId: target, text: words })
        if (chatId === target) void get().refresh()
        return target
      },
    }
  })
}
