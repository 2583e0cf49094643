import { createStore } from 'zustand/vanilla'
import type { ChatView, MessageView } from '../../shared/contract/app.ts'
import { AppError } from '../../shared/errors.ts'
import type { Host } from '../rpc/client.ts'
import { toClientError } from '../rpc/errors.ts'
import type { Loadable } from './resource.ts'
import { absorbTokens, settleLive, type Texts } from './streaming.ts'

export interface ConversationState {
  chatId: string | null
  view: Loadable<ChatView>
  /** Text of replies that are being written, by message id. */
  live: Texts
  open: (chatId: string | null) => void
  refresh: () => Promise<void>
  /** As `refresh`, after a time without events. */
  reconnect: () => Promise<void>
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

export function createConversation(host: Host, defer = setTimeout) {
  let waiting: Record<string, string> = {}
  let flushPlanned = false
  let readCount = 0

  return createStore<ConversationState>()((set, get) => {
    function absorb(isRead: boolean): void {
      const { view, live } = get()
      const known = view.status === 'ready' ? view.value.messages : []
      const next = absorbTokens({ live, waiting }, known, isRead)
      waiting = next.waiting
      set({ live: next.live })
    }

    function flush(): void {
      flushPlanned = false
      absorb(false)
    }

    async function read(chatId: string): Promise<void> {
      readCount += 1
      const mine = readCount
      const isStale = (): boolean => mine !== readCount || get().chatId !== chatId
      try {
        const value = await host.chats.view({ chatId })
        if (isStale()) return
        absorb(true)
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
        set({ chatId, view: { status: 'loading' } })
        if (chatId !== null) void read(chatId)
      },
      async reconnect() {
        // Tokens were missed meanwhile, so what was joined so far cannot be continued.
        waiting = {}
        set({ live: {} })
        await get().refresh()
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
