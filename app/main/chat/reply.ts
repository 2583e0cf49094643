// One running reply: renders, streams, saves at least every 250 ms, stores the turn. Not who may ask for one.
import type { Message } from '../../shared/domain/chat.ts'
import type { Note } from '../../shared/domain/hint.ts'
import type { Finish, Turn } from '../../shared/domain/turn.ts'
import { toAppError } from '../../shared/errors.ts'
import type { Generation, RenderedPrompt } from '../policy/types.ts'
import type { ChatDeps, ChatPolicy } from './ports.ts'
import { promptMessages, scaffolded } from './prompt.ts'

const saveEveryMs = 250

export interface ReplyRequest {
  readonly message: Message
  /** Root to the user message that is answered. */
  readonly path: readonly Message[]
  readonly heldOut: boolean
  readonly signal: AbortSignal
}

interface Prepared {
  readonly prompt: RenderedPrompt
  readonly bare: RenderedPrompt
  readonly notes: readonly Note[]
  readonly seed: number
  readonly maxTokens: number
}

function prepare(deps: ChatDeps, policy: ChatPolicy, request: ReplyRequest): Prepared {
  const settings = deps.store.settings()
  const asked = request.path.at(-1)?.text ?? ''
  const notes = settings.scaffold ? deps.scaffold(asked, request.message.chatId) : []
  const messages = promptMessages(request.path, settings)
  // Half of the context at most is kept free for the reply, so that a long chat still fits.
  const contextSize = policy.info().contextSize
  const maxTokens = Math.min(settings.sampling.maxTokens, Math.floor(contextSize / 2))
  const options = { reserve: maxTokens }
  const bare = policy.render(messages, options)
  const texts = notes.map((note) => note.text)
  const prompt =
    texts.length === 0
      ? bare
      : policy.render(scaffolded(messages, texts, settings.scaffoldPlace), options)
  return { prompt, bare, notes, seed: deps.seed(), maxTokens }
}

/** Streams text into the message row; the last write is forced by `flush`. */
function textWriter(deps: ChatDeps, message: Message) {
  let text = ''
  let savedAt = 0
  let saved = ''
  function flush() {
    if (text === saved) return
    deps.store.updateMessage(message.id, { text })
    saved = text
    savedAt = Date.now()
  }
  return {
    flush,
    add(piece: string) {
      if (piece === '') return
      text += piece
      deps.publish({ kind: 'token', chatId: message.chatId, messageId: message.id, text: piece })
      if (Date.now() - savedAt >= saveEveryMs) flush()
    },
  }
}

function storeTurn(
  deps: ChatDeps,
  request: ReplyRequest,
  result: { readonly prepared: Prepared; readonly generation: Generation },
): Turn {
  const { prepared, generation } = result
  const { sampling } = deps.store.settings()
  const finish: Finish = generation.finish
  return deps.store.transaction(() => {
    const turn = deps.store.addTurn({
      chatId: request.message.chatId,
      messageId: request.message.id,
      kind: 'main',
      promptIds: [...prepared.prompt.ids],
      bareIds: [...prepared.bare.ids],
      responseIds: [...generation.ids],
      logProbs: generation.logProbs === null ? null : [...generation.logProbs],
      temperature: sampling.temperature,
      topP: sampling.topP,
      topK: sampling.topK,
      minP: sampling.minP,
      seed: prepared.seed,
      version: generation.version,
      modelId: deps.policy().info().modelId,
      scaffoldNoteIds: prepared.notes.map((note) => note.id),
      droppedMessages: prepared.prompt.droppedMessages,
      finish,
      timeToFirstTokenMs: generation.timeToFirstTokenMs,
      tokensPerSecond: generation.tokensPerSecond,
      heldOut: request.heldOut,
      reward: { kind: 'waiting' },
    })
    deps.store.updateMessage(request.message.id, {
      text: generation.text,
      status: finish === 'stopped' ? 'stopped' : 'complete',
      turnId: turn.id,
    })
    return turn
  })
}

/** Runs the reply to its end; a failure becomes the message's own state and words, never an exception. */
export async function runReply(deps: ChatDeps, request: ReplyRequest): Promise<void> {
  const { message } = request
  const writer = textWriter(deps, message)
  try {
    const policy = deps.policy()
    const prepared = prepare(deps, policy, request)
    const { sampling } = deps.store.settings()
    const generation = await policy.generate({
      lane: 'serve',
      promptIds: prepared.prompt.ids,
      adapter: 'active',
      temperature: sampling.temperature,
      topP: sampling.topP,
      topK: sampling.topK,
      minP: sampling.minP,
      seed: prepared.seed,
      maxTokens: prepared.maxTokens,
      signal: request.signal,
      cacheKey: message.chatId,
      onToken: (token) => writer.add(token.text),
    })
    const turn = storeTurn(deps, request, { prepared, generation })
    deps.onTurn(turn)
  } catch (thrown) {
    const error = toAppError(thrown)
    writer.flush()
    deps.store.updateMessage(message.id, {
      status: error.code === 'cancelled' ? 'stopped' : 'failed',
      ...(error.code === 'cancelled' ? {} : { error: error.message }),
    })
  } finally {
    deps.publish({ kind: 'chat-changed', chatId: message.chatId })
  }
}
