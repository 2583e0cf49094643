// Which old messages a prompt leaves out. Pure: counting tokens comes in as a function.

import { AppError } from '../../shared/errors.ts'
import type { PromptMessage, RenderedPrompt } from './types.ts'

export interface Budget {
  readonly contextSize: number
  /** Tokens kept free for the reply. */
  readonly reserve: number
}

/**
 * Leaves out whole exchanges (a user message and what answers it), oldest first. What stays to the end: system
 * messages, the first user message, the last message.
 */
export function fitMessages(
  messages: readonly PromptMessage[],
  budget: Budget,
  render: (kept: readonly PromptMessage[]) => number[],
): RenderedPrompt {
  const limit = budget.contextSize - budget.reserve
  const whole = render(messages)
  if (whole.length <= limit) return { ids: whole, droppedMessages: 0 }
  const groups = droppable(messages)
  const without = (count: number): PromptMessage[] => {
    const left = new Set(groups.slice(0, count).flat())
    return messages.filter((_, i) => !left.has(i))
  }
  const smallest = render(without(groups.length))
  if (smallest.length > limit) throw tooLarge(smallest.length, budget)
  // The shortest list of dropped exchanges that fits, by halving: each step renders the prompt once.
  let low = 1
  let high = groups.length
  let best = { ids: smallest, kept: without(high).length }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const kept = without(middle)
    const ids = render(kept)
    if (ids.length <= limit) {
      best = { ids, kept: kept.length }
      high = middle
    } else low = middle + 1
  }
  return { ids: best.ids, droppedMessages: messages.length - best.kept }
}

/** Indices in the order in which they may go: later exchanges, the first answer, the rest of the last exchange. */
function droppable(messages: readonly PromptMessage[]): number[][] {
  const last = messages.length - 1
  const firstUser = messages.findIndex(({ role }) => role === 'user')
  const exchanges: number[][] = [[]]
  messages.forEach(({ role }, i) => {
    if (role === 'system') return
    if (role === 'user' && i !== firstUser) exchanges.push([])
    if (i !== firstUser && i !== last) exchanges.at(-1)?.push(i)
  })
  const [firstAnswer = [], ...later] = exchanges
  const lastExchange = later.pop() ?? []
  return [...later, firstAnswer, ...lastExchange.map((i) => [i])].filter(({ length }) => length > 0)
}

function tooLarge(tokens: number, { contextSize, reserve }: Budget): AppError {
  const limit = contextSize - reserve
  return new AppError(
    'too-large',
    `the message needs ${tokens} tokens; the context of ${contextSize} leaves ${limit} beside ${reserve} for the reply`,
    { data: { tokens, limit, contextSize, reserve } },
  )
}
