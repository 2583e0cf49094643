// The simulated user: talks to a running app through its contract and sees what a person sees, texts only.
import { AppError } from '../app/shared/errors.ts'
import type { Connection } from './client.ts'
import {
  complaintLines,
  otherTopicLine,
  thanksLine,
  type Check,
  type Persona,
  type Wording,
} from './personas/persona.ts'
import { pick, type Random } from './random.ts'
import { messageOf, type Watch } from './watch.ts'

export interface UserOptions {
  readonly connection: Connection
  readonly watch: Watch
  readonly persona: Persona
  readonly random: Random
  readonly wording: Wording
  /** Corrections before the user gives up on a request. */
  readonly maxCorrections: number
  /** Share of reactions that are the opposite of what the rule says. */
  readonly wrongSignals: number
  /** false = leaves while the answer to the last word (a thanks, another topic) is still being written. */
  readonly readsLastReply: boolean
  /** Called before each message is sent, and for each reply; the demo waits and prints here. */
  readonly onTurn?: (turn: UserTurn) => Promise<void>
}

export type UserTurn =
  | { readonly kind: 'says'; readonly text: string }
  | { readonly kind: 'reads'; readonly reply: string; readonly check: Check }

export interface SessionResult {
  readonly chatId: string
  /** Did the first reply meet the wish? */
  readonly firstReply: Check
  readonly corrections: number
  /** Did the last reply meet it? */
  readonly satisfied: boolean
  readonly end: 'thanks' | 'silence' | 'other-topic' | 'gave-up'
}

const replyMs = 240_000

/** One chat: a request, then corrections until a reply meets the wish or patience ends. */
export async function playSession(user: UserOptions, request: string): Promise<SessionResult> {
  const { client } = user.connection
  const chat = await client.chats.create()
  const first = await say(user, chat.id, request)
  let last = first
  let corrections = 0
  while (!seemsRight(user, last)) {
    if (corrections === user.maxCorrections) {
      return { chatId: chat.id, firstReply: first, corrections, satisfied: false, end: 'gave-up' }
    }
    corrections++
    last = await say(user, chat.id, pick(user.random, complaintLines(user.persona, user.wording)))
  }
  const end = await close(user, chat.id, corrections)
  return { chatId: chat.id, firstReply: first, corrections, satisfied: last.satisfied, end }
}

/** The reply to one request in a chat that is not learned from. */
export async function askOnce(user: Seat, request: string): Promise<string> {
  const { client } = user.connection
  const chat = await client.chats.create()
  await client.chats.setLearn({ chatId: chat.id, learn: false })
  return replyTo(user, chat.id, request)
}

function seemsRight({ random, wrongSignals }: UserOptions, check: Check): boolean {
  return random() < wrongSignals ? !check.satisfied : check.satisfied
}

/** After a correction people say thanks; an answer that was right at once often gets nothing. */
async function close(
  user: UserOptions,
  chatId: string,
  corrections: number,
): Promise<'thanks' | 'silence' | 'other-topic'> {
  const mood = user.random()
  if (corrections === 0 && mood < 0.15) return 'silence'
  const end = corrections === 0 && mood < 0.25 ? 'other-topic' : 'thanks'
  const text = end === 'thanks' ? thanksLine(user.random) : otherTopicLine(user.random)
  await user.onTurn?.({ kind: 'says', text })
  await sayLast(user, chatId, text)
  return end
}

async function sayLast(user: UserOptions, chatId: string, text: string): Promise<void> {
  const { client } = user.connection
  const { replyMessageId } = await client.chat.send({ chatId, text })
  if (!user.readsLastReply) await client.chat.stop({ chatId })
  await ended(user, chatId, replyMessageId)
}

async function say(user: UserOptions, chatId: string, text: string): Promise<Check> {
  await user.onTurn?.({ kind: 'says', text })
  const reply = await replyTo(user, chatId, text)
  const check = user.persona.check(reply)
  await user.onTurn?.({ kind: 'reads', reply, check })
  return check
}

type Seat = Pick<UserOptions, 'connection' | 'watch'>

function ended({ connection: { client }, watch }: Seat, chatId: string, replyMessageId: string) {
  return watch.until('a reply', replyMs, async () => {
    const reply = messageOf(await client.chats.view({ chatId }), replyMessageId)
    return reply.status === 'streaming' ? null : reply
  })
}

async function replyTo(user: Seat, chatId: string, text: string): Promise<string> {
  const { replyMessageId } = await user.connection.client.chat.send({ chatId, text })
  const message = await ended(user, chatId, replyMessageId)
  if (message.status === 'complete') return message.text
  throw new AppError('unavailable', `a reply ended as ${message.status}: ${message.error ?? ''}`)
}
