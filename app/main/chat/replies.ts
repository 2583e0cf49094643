// The replies that are running: at most one per chat.
import type { Message } from '../../shared/domain/chat.ts'
import { AppError } from '../../shared/errors.ts'
import { isHeldOut } from './limits.ts'
import type { ChatDeps } from './ports.ts'
import { runReply } from './reply.ts'

export interface Replies extends AsyncDisposable {
  requireIdle(chatId: string): void
  /** Adds the empty reply under the user's message and begins to write it. */
  start(user: Message): Message
  stop(chatId: string): void
  settled(chatId: string): Promise<void>
}

interface Running {
  readonly controller: AbortController
  readonly done: Promise<void>
}

function addReply(deps: ChatDeps, user: Message): Message {
  return deps.store.transaction(() => {
    const message = deps.store.addMessage({
      chatId: user.chatId,
      parentId: user.id,
      role: 'assistant',
      text: '',
      status: 'streaming',
      error: null,
      turnId: null,
      editOf: null,
    })
    deps.store.updateChat(user.chatId, { activeLeafId: message.id })
    return message
  })
}

/** Chats that were begun before this one: their first prompts came earlier. */
function earlierFirstPrompts(deps: ChatDeps): number {
  return deps.store.chats().filter((chat) => chat.activeLeafId !== null).length - 1
}

export function createReplies(deps: ChatDeps): Replies {
  const running = new Map<string, Running>()
  return {
    requireIdle(chatId) {
      if (running.has(chatId)) {
        throw new AppError('busy', 'A reply is still being written in this chat. Stop it first.')
      }
    },
    start(user) {
      const message = addReply(deps, user)
      const controller = new AbortController()
      const isFirst = user.parentId === null
      const done = runReply(deps, {
        message,
        path: deps.store.path(user.id),
        heldOut: isFirst && isHeldOut(user.id, earlierFirstPrompts(deps)),
        signal: controller.signal,
      }).finally(() => running.delete(user.chatId))
      running.set(user.chatId, { controller, done })
      deps.publish({ kind: 'chat-changed', chatId: user.chatId })
      return message
    },
    stop(chatId) {
      running.get(chatId)?.controller.abort()
    },
    async settled(chatId) {
      await running.get(chatId)?.done
    },
    async [Symbol.asyncDispose]() {
      const open = [...running.values()]
      for (const reply of open) reply.controller.abort()
      await Promise.allSettled(open.map((reply) => reply.done))
    },
  }
}
