// What the chat page shows of a conversation, read from the store.
import type { ChatView, MessageView, TurnSummary } from '../../shared/contract/app.ts'
import type { Message } from '../../shared/domain/chat.ts'
import { AppError } from '../../shared/errors.ts'
import type { Store } from '../store/types.ts'

export type ViewStore = Pick<
  Store,
  'chat' | 'messages' | 'path' | 'turn' | 'turns' | 'hintsOf' | 'judgeTask' | 'signals'
>

function turnSummary(store: ViewStore, turnId: string): TurnSummary | null {
  const turn = store.turn(turnId)
  if (turn === null) return null
  const task = store.judgeTask(turnId)
  const thumb = store.signals(turnId).findLast((signal) => signal.kind === 'thumb')?.value
  return {
    id: turn.id,
    version: turn.version,
    scaffoldNoteIds: turn.scaffoldNoteIds,
    droppedMessages: turn.droppedMessages,
    finish: turn.finish,
    timeToFirstTokenMs: turn.timeToFirstTokenMs,
    tokensPerSecond: turn.tokensPerSecond,
    heldOut: turn.heldOut,
    reward: turn.reward,
    thumb: thumb === 1 || thumb === -1 ? thumb : null,
    hints: store.hintsOf(turnId),
    judgeError: task?.state === 'failed' ? task.error : null,
  }
}

function messageView(store: ViewStore, all: readonly Message[], message: Message): MessageView {
  const siblings = all.filter(
    (each) => each.parentId === message.parentId && each.role === message.role,
  )
  return {
    ...message,
    siblingIds: siblings.map((each) => each.id),
    turn: message.turnId === null ? null : turnSummary(store, message.turnId),
  }
}

/** Tokens in use are those of the newest turn on the branch: its prompt and its reply. */
function contextTokens(store: ViewStore, path: readonly Message[]): number {
  const turnId = path.findLast((message) => message.turnId !== null)?.turnId
  const turn = turnId == null ? null : store.turn(turnId)
  return turn === null ? 0 : turn.promptIds.length + turn.responseIds.length
}

export function chatView(store: ViewStore, chatId: string, contextSize: number): ChatView {
  const chat = store.chat(chatId)
  if (chat === null) throw new AppError('not-found', 'This chat does not exist any more.')
  const all = store.messages(chatId)
  const path = chat.activeLeafId === null ? [] : store.path(chat.activeLeafId)
  return {
    chat,
    messages: path.map((message) => messageView(store, all, message)),
    contextTokens: contextTokens(store, path),
    contextSize,
  }
}
