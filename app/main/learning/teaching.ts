// Which chats may teach at all: not those of the trash, nor those the user said not to learn from.
import type { LearningStore } from './ports.ts'

export function mayTeach(store: Pick<LearningStore, 'chat'>, chatId: string): boolean {
  const chat = store.chat(chatId)
  return chat !== null && chat.learn && chat.deletedAt === null
}
