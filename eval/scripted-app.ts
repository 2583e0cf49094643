// For tests: an app with scripted replies behind the real contract, over a real WebSocket and sign-in.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/ws'
import { WebSocketServer } from 'ws'
import { appContract, type AppEvent, type MessageView } from '../app/shared/contract/app.ts'
import type { Hint } from '../app/shared/domain/hint.ts'

export interface ScriptedApp extends AsyncDisposable {
  readonly startUrl: string
  /** What happened, in order: `create 1`, `learn 1 false`, `say 1 …`, `stop 1`, `approve 1`. */
  readonly log: string[]
}

export interface Script {
  /** The reply to the nth message of a chat, from 1; null = it fails. */
  readonly reply: (text: string, nth: number) => string | null
  /** Hints of the first turn of each chat. */
  readonly hints?: readonly Hint[]
}

const token = 'once'
const cookie = 'session=42'

export async function openScriptedApp(script: Script): Promise<ScriptedApp> {
  const log: string[] = []
  const handler = new RPCHandler(scriptedRouter(script, log))
  let tokenUsed = false
  const server = createServer((request, response) => {
    const isValid = request.url === `/?token=${token}` && !tokenUsed
    if (isValid) tokenUsed = true
    response.writeHead(
      isValid ? 302 : 403,
      isValid ? { location: '/', 'set-cookie': `${cookie}; HttpOnly; SameSite=Strict` } : {},
    )
    response.end()
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const { port } = server.address() as AddressInfo
    const isAllowed =
      request.headers.cookie === cookie &&
      request.headers.origin === `http://127.0.0.1:${port}` &&
      request.url === '/rpc'
    if (!isAllowed) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    sockets.handleUpgrade(request, socket, head, (webSocket) => void handler.upgrade(webSocket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    startUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=${token}`,
    log,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function scriptedRouter(script: Script, log: string[]) {
  const os = implement(appContract)
  const chats: MessageView[][] = []
  const messagesOf = (chatId: string) => chats[Number(chatId) - 1] ?? []
  const chat = (id: string, learn = true) => {
    const times = { createdAt: 1, updatedAt: 1, deletedAt: null }
    return { id, title: 'Chat', learn, activeLeafId: null, ...times }
  }
  return {
    system: {
      events: os.system.events.handler(async function* ({ signal }): AsyncGenerator<AppEvent> {
        yield { kind: 'chats-changed' }
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
      }),
    },
    chats: {
      create: os.chats.create.handler(() => {
        const id = String(chats.push([]))
        log.push(`create ${id}`)
        return chat(id)
      }),
      setLearn: os.chats.setLearn.handler(({ input }) => {
        log.push(`learn ${input.chatId} ${input.learn}`)
        return chat(input.chatId, input.learn)
      }),
      view: os.chats.view.handler(({ input }) => ({
        chat: chat(input.chatId),
        messages: messagesOf(input.chatId),
        contextTokens: 10,
        contextSize: 100,
      })),
    },
    chat: {
      send: os.chat.send.handler(({ input: { chatId, text } }) => {
        log.push(`say ${chatId} ${text}`)
        const messages = messagesOf(chatId)
        const nth = messages.length / 2 + 1
        const reply = script.reply(text, nth)
        const ids = { userMessageId: `${chatId}u${nth}`, replyMessageId: `${chatId}r${nth}` }
        messages.push(message(chatId, ids.userMessageId, text))
        messages.push({
          ...message(chatId, ids.replyMessageId, reply ?? ''),
          ...(reply === null ? { status: 'failed' as const, error: 'no model' } : {}),
          turn: scriptedTurn(nth, script.hints ?? []),
          role: 'assistant',
        })
        return ids
      }),
      stop: os.chat.stop.handler(({ input }) => {
        log.push(`stop ${input.chatId}`)
        return {}
      }),
    },
    feedback: { votes: os.feedback.votes.handler(() => []) },
    hints: {
      approve: os.hints.approve.handler(({ input: { hintId } }) => {
        log.push(`approve ${hintId}`)
        const hint = script.hints?.find(({ id }) => id === hintId)
        if (hint === undefined) throw new RangeError(`no hint ${hintId}`)
        return hint
      }),
    },
  }
}

function message(chatId: string, id: string, text: string): MessageView {
  return {
    id,
    chatId,
    parentId: null,
    role: 'user',
    text,
    status: 'complete',
    error: null,
    turnId: null,
    editOf: null,
    createdAt: 1,
    siblingIds: [id],
    turn: null,
  }
}

function scriptedTurn(nth: number, hints: readonly Hint[]): MessageView['turn'] {
  return {
    id: `t${nth}`,
    version: 0,
    scaffoldNoteIds: [],
    droppedMessages: 0,
    finish: 'stop',
    timeToFirstTokenMs: 1,
    tokensPerSecond: 1,
    heldOut: false,
    reward: { kind: 'decided', value: -1, by: 'votes' },
    thumb: null,
    hints: nth === 1 ? [...hints] : [],
    judgeError: null,
  }
}
