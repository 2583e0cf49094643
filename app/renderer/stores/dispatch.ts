import type { AppEvent } from '../../shared/contract/app.ts'
import type { Connection } from '../rpc/client.ts'
import { resourceNames, type ResourceName, type Stores } from './stores.ts'

/** Bursts of change events become one read. */
const settleMs = 60
/** How long to wait before asking again for events that the host ended by itself. */
const resubscribeMs = 1000

/** Runs the action once per key, a short time after the first request. */
export function createCoalescer(defer: (run: () => void, ms: number) => unknown = setTimeout) {
  const planned = new Set<string>()
  return (key: string, action: () => unknown): void => {
    if (planned.has(key)) return
    planned.add(key)
    defer(() => {
      planned.delete(key)
      action()
    }, settleMs)
  }
}

export function createDispatch(stores: Stores, coalesce = createCoalescer()) {
  const reread = (...names: ResourceName[]): void => {
    for (const name of names) coalesce(name, () => stores[name].getState().refresh())
  }
  const rereadChat = (): void => {
    coalesce('conversation', () => stores.conversation.getState().refresh())
  }

  return (event: AppEvent): void => {
    switch (event.kind) {
      case 'token':
        // Of every chat: one that is opened in mid-reply needs its beginning.
        return stores.conversation.getState().token(event.messageId, event.text)
      case 'chat-changed':
        if (event.chatId === stores.conversation.getState().chatId) rereadChat()
        return reread('chats')
      case 'chats-changed':
        return reread('chats')
      case 'hints-changed':
        rereadChat()
        return reread('hints', 'notes')
      case 'learning':
        stores.learning.getState().set(event.status)
        return
      case 'step':
        return reread('curves', 'runs')
      case 'overlap':
        return reread('heatMaps')
      case 'curves-changed':
        return reread('curves', 'runs')
      case 'versions-changed':
        return reread('versions', 'notes', 'runs')
      case 'settings-changed':
        // Where training runs is a setting with a reason that the host knows.
        return reread('settings', 'system')
      case 'system-changed':
        return reread('system')
    }
  }
}

/** Follows the connection: on every opening subscribes first, then reads everything. */
export function follow(connection: Connection, stores: Stores): () => void {
  const dispatch = createDispatch(stores)

  async function listen(): Promise<void> {
    const events = await stores.host.system.events()
    rereadAll(stores)
    for await (const event of events) dispatch(event)
  }

  async function listenWhileOpen(): Promise<void> {
    while (stores.connection.getState().state === 'open') {
      // A stream that ends while the connection is open is asked for again, with a full read.
      await listen().catch(() => undefined)
      if (stores.connection.getState().state !== 'open') return
      await new Promise((resolve) => setTimeout(resolve, resubscribeMs))
    }
  }

  let listening: Promise<void> | null = null
  return connection.subscribe((state) => {
    stores.connection.setState({ state })
    if (state !== 'open' || listening !== null) return
    listening = listenWhileOpen().finally(() => {
      listening = null
    })
  })
}

export function rereadAll(stores: Stores): void {
  for (const name of resourceNames) void stores[name].getState().refresh()
  void stores.conversation.getState().reconnect()
}
