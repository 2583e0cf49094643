// The product's conversation service: who may ask for a reply, and where it goes in the tree.
import type { Message } from '../../shared/domain/chat.ts'
import { AppError } from '../../shared/errors.ts'
import { checkMessageText, titleOf } from './limits.ts'
import type { ChatDeps } from './ports.ts'
import { createReplies, type Replies } from './replies.ts'

export interface SendInput {
  readonly chatId: string
  readonly text: string
  /** undefined = under the shown leaf; null = a new first message. */
  readonly parentId?: string | null | undefined
}

export interface Sent {
  readonly userMessageId: string
  readonly replyMessageId: string
}

export interface ChatService extends AsyncDisposable {
  send(input: SendInput): Sent
  stop(chatId: string): void
  regenerate(messageId: string): Pick<Sent, 'replyMessageId'>
  editAndResend(input: { readonly messageId: string; readonly text: string }): Sent
  editReply(input: { readonly messageId: string; readonly text: string }): Message
  selectBranch(messageId: string): void
  /** Resolves when no reply is running in the chat. */
  settled(chatId: string): Promise<void>
}

interface Desk {
  readonly deps: ChatDeps
  readonly replies: Replies
}

function requireMessage(deps: ChatDeps, id: string, role: Message['role']): Message {
  const message = deps.store.message(id)
  if (message === null) throw new AppError('not-found', 'This message does not exist any more.')
  if (message.role !== role) {
    throw new AppError('invalid-input', `Expected a message of the ${role}, found ${message.role}.`)
  }
  return message
}

/** The newest leaf below a message: what a branch shows. */
function leafBelow(deps: ChatDeps, message: Message): Message {
  const all = deps.store.messages(message.chatId)
  let leaf = message
  for (;;) {
    const child = all.findLast((candidate) => candidate.parentId === leaf.id)
    if (child === undefined) return leaf
    leaf = child
  }
}

/** A user message that follows a reply is that reply's next state; returns the reply's turn. */
function closePreviousTurn(deps: ChatDeps, userMessage: Message): string | null {
  const parent = userMessage.parentId === null ? null : deps.store.message(userMessage.parentId)
  if (parent?.role !== 'assistant' || parent.turnId === null) return null
  // An edited and resent message changes the request; the first one stays the reply's next state.
  const isClosed = deps.store
    .signals(parent.turnId)
    .some((signal) => signal.kind === 'next-message')
  if (isClosed) return null
  deps.store.addSignal({
    turnId: parent.turnId,
    kind: 'next-message',
    value: null,
    text: userMessage.text,
    messageId: userMessage.id,
  })
  deps.store.setJudgeTask(parent.turnId, 'owed')
  return parent.turnId
}

/** Stores the message and what it says about the reply before it, then begins the answer. */
function ask(
  { deps, replies }: Desk,
  place: { readonly chatId: string; readonly parentId: string | null; readonly text: string },
): Sent {
  const { user, closedTurnId } = deps.store.transaction(() => {
    const added = deps.store.addMessage({
      ...place,
      role: 'user',
      status: 'complete',
      error: null,
      turnId: null,
      editOf: null,
    })
    deps.store.updateChat(place.chatId, {
      activeLeafId: added.id,
      ...(place.parentId === null ? { title: titleOf(place.text) } : {}),
    })
    return { user: added, closedTurnId: closePreviousTurn(deps, added) }
  })
  deps.publish({ kind: 'chats-changed' })
  const reply = replies.start(user)
  if (closedTurnId !== null) deps.onNextState(closedTurnId)
  return { userMessageId: user.id, replyMessageId: reply.id }
}

function send(desk: Desk, { chatId, text, parentId }: SendInput): Sent {
  checkMessageText(text)
  const chat = desk.deps.store.chat(chatId)
  if (chat === null) throw new AppError('not-found', 'This chat does not exist any more.')
  desk.replies.requireIdle(chatId)
  const parent = parentId === undefined ? chat.activeLeafId : parentId
  if (parent !== null && desk.deps.store.message(parent)?.chatId !== chatId) {
    throw new AppError('conflict', 'The message this answers is not in this chat any more.')
  }
  return ask(desk, { chatId, parentId: parent, text })
}

/** Repeats on one prompt count once (DESIGN 5.1). */
function signalRegenerate(deps: ChatDeps, old: Message, turnId: string): void {
  const isCounted = deps.store
    .messages(old.chatId)
    .filter((message) => message.parentId === old.parentId && message.turnId !== null)
    .flatMap((message) => deps.store.signals(message.turnId ?? ''))
    .some((signal) => signal.kind === 'regenerate')
  if (isCounted) return
  deps.store.addSignal({ turnId, kind: 'regenerate', value: null, text: '', messageId: null })
  deps.store.setJudgeTask(turnId, 'owed')
  deps.onNextState(turnId)
}

function regenerate({ deps, replies }: Desk, messageId: string): Pick<Sent, 'replyMessageId'> {
  const old = requireMessage(deps, messageId, 'assistant')
  replies.requireIdle(old.chatId)
  const user = requireMessage(deps, old.parentId ?? '', 'user')
  if (old.turnId !== null && old.status === 'complete') signalRegenerate(deps, old, old.turnId)
  return { replyMessageId: replies.start(user).id }
}

function storeEdit(deps: ChatDeps, old: Message, text: string): Message {
  const edited = deps.store.addMessage({
    chatId: old.chatId,
    parentId: old.parentId,
    role: 'assistant',
    text,
    status: 'complete',
    error: null,
    turnId: null,
    editOf: old.id,
  })
  deps.store.updateChat(old.chatId, { activeLeafId: edited.id })
  if (old.turnId !== null) {
    deps.store.addSignal({
      turnId: old.turnId,
      kind: 'edit',
      value: null,
      text,
      messageId: edited.id,
    })
    deps.store.setJudgeTask(old.turnId, 'owed')
  }
  return edited
}

function editReply({ deps, replies }: Desk, messageId: string, text: string): Message {
  checkMessageText(text)
  const old = requireMessage(deps, messageId, 'assistant')
  replies.requireIdle(old.chatId)
  if (text === old.text) {
    throw new AppError('invalid-input', 'The text is the same as before; nothing was changed.')
  }
  const edited = deps.store.transaction(() => storeEdit(deps, old, text))
  if (old.turnId !== null) deps.onNextState(old.turnId)
  deps.publish({ kind: 'chat-changed', chatId: old.chatId })
  return edited
}

function selectBranch({ deps, replies }: Desk, messageId: string): void {
  const message = deps.store.message(messageId)
  if (message === null) throw new AppError('not-found', 'This branch does not exist any more.')
  replies.requireIdle(message.chatId)
  deps.store.updateChat(message.chatId, { activeLeafId: leafBelow(deps, message).id })
  deps.publish({ kind: 'chat-changed', chatId: message.chatId })
}

export function createChatService(deps: ChatDeps): ChatService {
  const desk: Desk = { deps, replies: createReplies(deps) }
  return {
    send: (input) => send(desk, input),
    stop: (chatId) => desk.replies.stop(chatId),
    regenerate: (messageId) => regenerate(desk, messageId),
    editAndResend({ messageId, text }) {
      checkMessageText(text)
      const old = requireMessage(deps, messageId, 'user')
      desk.replies.requireIdle(old.chatId)
      return ask(desk, { chatId: old.chatId, parentId: old.parentId, text })
    },
    editReply: ({ messageId, text }) => editReply(desk, messageId, text),
    selectBranch: (messageId) => selectBranch(desk, messageId),
    settled: (chatId) => desk.replies.settled(chatId),
    [Symbol.asyncDispose]: () => desk.replies[Symbol.asyncDispose](),
  }
}
