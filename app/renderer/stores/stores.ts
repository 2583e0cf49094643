import { createStore } from 'zustand/vanilla'
import type { Connection, ConnectionState, Host } from '../rpc/client.ts'
import type { Chat } from '../../shared/domain/chat.ts'
import type { AppError } from '../../shared/errors.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import { createConversation } from './conversation.ts'
import { createAttempt, createNotices, type Attempt } from './notices.ts'
import { createResource } from './resource.ts'
import { createRoute, go } from './route.ts'

/** Everything the pages read, made once. Reading is by resource, changing through `actions`. */
export function createStores(connection: Connection) {
  const { host } = connection
  const notices = createNotices()
  const attempt = createAttempt(notices)
  const reading = createReading(host, notices)
  return {
    ...reading,
    host,
    notices,
    attempt,
    retryNow: () => connection.retryNow(),
    actions: {
      ...chatActions({ host, reading, notices, attempt }),
      ...settingsActions({ host, reading, attempt }),
    },
  }
}

export type Stores = ReturnType<typeof createStores>
type Notices = ReturnType<typeof createNotices>
type Reading = ReturnType<typeof createReading>

function createReading(host: Host, notices: Notices) {
  const onStale = (error: AppError): void => notices.getState().add({ kind: 'error', error })
  return {
    connection: createStore<{ state: ConnectionState }>()(() => ({ state: 'connecting' })),
    route: createRoute(),
    conversation: createConversation(host),
    chats: createResource({ read: () => host.chats.list(), onStale }),
    hints: createResource({ read: () => host.hints.list(), onStale }),
    notes: createResource({ read: () => host.notes.list(), onStale }),
    learning: createResource({ read: () => host.learning.status(), onStale }),
    curves: createResource({ read: () => host.learning.curves(), onStale }),
    runs: createResource({ read: () => host.learning.runs(), onStale }),
    heatMaps: createResource({ read: () => host.learning.heatMaps(), onStale }),
    versions: createResource({ read: () => host.versions.list(), onStale }),
    settings: createResource({ read: () => host.settings.get(), onStale }),
    system: createResource({ read: () => host.system.info(), onStale }),
  }
}

/** What is read again when the connection comes back. */
export const resourceNames = [
  'chats',
  'hints',
  'notes',
  'learning',
  'curves',
  'runs',
  'heatMaps',
  'versions',
  'settings',
  'system',
] as const
export type ResourceName = (typeof resourceNames)[number]

interface Tools {
  host: Host
  reading: Reading
  attempt: Attempt
}

function chatActions({ host, reading, notices, attempt }: Tools & { notices: Notices }) {
  const reread = async (): Promise<void> => {
    await Promise.all([
      reading.chats.getState().refresh(),
      reading.conversation.getState().refresh(),
    ])
  }
  async function restore(chatId: string): Promise<void> {
    const restored = await attempt(() => host.chats.restore({ chatId }))
    await reread()
    if (restored) go('chat', chatId)
  }
  return {
    async renameChat(chatId: string, title: string): Promise<void> {
      await attempt(() => host.chats.rename({ chatId, title }))
      await reread()
    },
    async setLearn(chatId: string, learn: boolean): Promise<void> {
      await attempt(() => host.chats.setLearn({ chatId, learn }))
      await reread()
    },
    /** The chat leaves the list only when the host has put it in the trash. */
    async removeChat(chat: Chat): Promise<void> {
      const removed = await attempt(() => host.chats.remove({ chatId: chat.id }))
      if (removed) {
        const undo = (): void => void restore(chat.id)
        notices.getState().add({ kind: 'deleted', title: chat.title, undo })
        if (reading.conversation.getState().chatId === chat.id) go('chat')
      }
      await reading.chats.getState().refresh()
    },
  }
}

function settingsActions({ host, reading, attempt }: Tools) {
  return {
    /** Shows the change at once, then what the host made of it. */
    async changeSettings(change: Partial<Settings>): Promise<void> {
      const { data, set, refresh } = reading.settings.getState()
      if (data.status === 'ready') set({ ...data.value, ...change })
      const saved = await attempt(async () => {
        set(await host.settings.update(change))
      })
      if (!saved) await refresh()
    },
  }
}
