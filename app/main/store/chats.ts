import { chatSchema, messageSchema } from '../../shared/domain/chat.ts'
import type { Chat, Message } from '../../shared/domain/chat.ts'
import { AppError } from '../../shared/errors.ts'
import { flag, plain } from './codecs.ts'
import type { Connection } from './connection.ts'
import { openTable } from './table.ts'
import type { TableDefinition } from './table.ts'
import type { ChatStore } from './types.ts'

const chatTable: TableDefinition<Chat> = {
  name: 'chats',
  noun: 'chat',
  key: 'id',
  schema: chatSchema,
  columns: {
    id: plain,
    title: plain,
    createdAt: plain,
    updatedAt: plain,
    learn: flag,
    activeLeafId: plain,
    deletedAt: plain,
  },
}

const messageTable: TableDefinition<Message> = {
  name: 'messages',
  noun: 'message',
  key: 'id',
  schema: messageSchema,
  columns: {
    id: plain,
    chatId: plain,
    parentId: plain,
    role: plain,
    text: plain,
    status: plain,
    error: plain,
    turnId: plain,
    editOf: plain,
    createdAt: plain,
  },
}

export function createChatStore(connection: Connection): ChatStore {
  const chats = openTable(connection, chatTable)
  const messages = openTable(connection, messageTable)

  /** A message that is named must be there and belong to the chat. */
  const needInChat = (id: string | null, chatId: string): void => {
    if (id === null || messages.need(id).chatId === chatId) return
    throw new AppError('conflict', `message ${id} belongs to another chat than ${chatId}`)
  }

  return {
    createChat: () => {
      const at = connection.now()
      return chats.insert({
        id: connection.newId(),
        title: '',
        createdAt: at,
        updatedAt: at,
        learn: true,
        activeLeafId: null,
        deletedAt: null,
      })
    },
    chat: (id) => chats.get(id),
    chats: () => chats.list('WHERE deleted_at IS NULL ORDER BY updated_at DESC, seq DESC'),
    updateChat: (id, change) =>
      connection.transaction(() => {
        needInChat(change.activeLeafId ?? null, id)
        // Looking at another branch is not news: the order of the list stays.
        const isNews = Object.keys(change).some((field) => field !== 'activeLeafId')
        return chats.update(id, isNews ? { ...change, updatedAt: connection.now() } : change)
      }),
    addMessage: (message) =>
      connection.transaction(() => {
        const at = connection.now()
        needInChat(message.parentId, message.chatId)
        needInChat(message.editOf, message.chatId)
        chats.update(message.chatId, { updatedAt: at })
        return messages.insert({ ...message, id: connection.newId(), createdAt: at })
      }),
    message: (id) => messages.get(id),
    messages: (chatId) => messages.list('WHERE chat_id = ? ORDER BY seq', chatId),
    updateMessage: (id, change) => connection.transaction(() => messages.update(id, change)),
    path: (leafId) => {
      const path: Message[] = []
      const seen = new Set<string>()
      let next = messages.get(leafId)
      // A damaged file could hold a circle of parents.
      while (next !== null && !seen.has(next.id)) {
        seen.add(next.id)
        path.push(next)
        next = next.parentId === null ? null : messages.get(next.parentId)
      }
      return path.reverse()
    },
    closeInterrupted: () =>
      connection.writable
        ? connection.run(`UPDATE messages SET status = 'interrupted' WHERE status = 'streaming'`)
        : 0,
  }
}
