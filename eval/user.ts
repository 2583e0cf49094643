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
  /** Words the corrections; absent = the persona's own templates. */
  readonly speaker?: Speaker
  /** Called before each message is sent, and for each reply; the demo waits and prints here. */
  readonly onTurn?: (turn: UserTurn) => Promise<void>
}

export type UserTurn =
  | { readonly kind: 'says'; readonly text: string }
  | { readonly kind: 'reads'; readonly reply: string; readonly check: Check }

export interface Displeasure {
  readonly persona: Persona
  readonly request: string
  readonly reply: string
  /** What the template user would say. */
  readonly template: string
}

/** Turns displeasure into one message. */
export type Speaker = (about: Displeasure) => Promise<string>

/** What the user showed about a reply: a complaint, thanks, another topic; null = nothing. */
export type Reaction = -1 | 1 | 0 | null

export interface SessionResult {
  readonly chatId: string
  readonly request: string
  /** Did the first reply meet the wish? */
  readonly firstReply: Check
  /** The reply that the session ended with. */
  readonly lastReply: string
  readonly corrections: number
  /** One for each reply that the user read. */
  readonly reactions: readonly Reaction[]
  /** Did the last reply meet it? */
  readonly satisfied: boolean
  readonly end: 'thanks' | 'silence' | 'other-topic' | 'gave-up'
}

const replyMs = 240_000

interface Heard {
  readonly text: string
  readonly check: Check
}

/** One chat: a request, then corrections until a reply meets the wish or patience ends. */
export async function playSession(user: UserOptions, request: string): Promise<SessionResult> {
  const { client } = user.connection
  const chat = await client.chats.create()
  const first = await say(user, chat.id, request)
  let last = first
  let corrections = 0
  let isPleased = seemsRight(user, last.check)
  while (!isPleased && corrections < user.maxCorrections) {
    corrections++
    last = await say(user, chat.id, await complaint(user, { request, reply: last.text }))
    isPleased = seemsRight(user, last.check)
  }
  const end = isPleased ? await close(user, chat.id) : 'gave-up'
  const closing = { thanks: 1, 'other-topic': 0, silence: null, 'gave-up': null } as const
  return {
    chatId: chat.id,
    request,
    firstReply: first.check,
    lastReply: last.text,
    corrections,
    reactions: [...Array.from({ length: corrections }, () => -1 as const), closing[end]],
    satisfied: last.check.satisfied,
    end,
  }
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

async function complaint(
  user: UserOptions,
  about: Pick<Displeasure, 'request' | 'reply'>,
): Promise<string> {
  const template = pick(user.random, complaintLines(user.persona, user.wording))
  return user.speaker?.({ ...about, persona: user.persona, template }) ?? template
}

/** Most people say thanks once it is right, some say nothing, and some are already at the next thing. */
async function close(
  user: UserOptions,
  chatId: string,
): Promise<'thanks' | 'silence' | 'other-topic'> {
  const mood = user.random()
  if (mood < 0.15) return 'silence'
  const end = mood < 0.25 ? 'other-topic' : 'thanks'
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

async function say(user: UserOptions, chatId: string, text: string): Promise<Heard> {
  await user.onTurn?.({ kind: 'says', text })
  const reply = await replyTo(user, chatId, text)
  const check = user.persona.check(reply)
  await user.onTurn?.({ kind: 'reads', reply, check })
  return { text: reply, check }
}

export type Seat = Pick<UserOptions, 'connection' | 'watch'>

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
