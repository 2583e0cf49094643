import type { MessageView } from '../../shared/contract/app.ts'

/** Texts by message id. */
export type Texts = Readonly<Record<string, string>>

/** Replies of other chats go on as well; more at once than this cannot be. */
const mostLive = 32

/**
 * Joins what the store had when the view was read with the tokens that arrived meanwhile.
 * The two overlap by an unknown length: the longest end of `stored` that begins `streamed` counts once.
 */
export function mergeStream(stored: string, streamed: string): string {
  if (streamed.startsWith(stored)) return streamed
  const longest = Math.min(stored.length, streamed.length)
  for (let length = longest; length > 0; length -= 1) {
    if (stored.endsWith(streamed.slice(0, length))) return stored + streamed.slice(length)
  }
  // Every streamed token may already be in the middle of what was stored.
  return stored.includes(streamed) ? stored : stored + streamed
}

/** Keeps texts that are still growing, drops those whose final form is in the view. */
export function settleLive(live: Texts, messages: readonly MessageView[]): Record<string, string> {
  const next = { ...live }
  for (const message of messages) {
    if (message.status === 'streaming') {
      next[message.id] = mergeStream(message.text, next[message.id] ?? '')
    } else {
      delete next[message.id]
    }
  }
  return next
}

export interface Arrivals {
  live: Texts
  waiting: Texts
}

/**
 * Moves arrived tokens into `live`. A reply of the view whose beginning is not in `live`
 * (after a reconnection) waits for the read that brings it.
 */
export function absorbTokens(
  { live, waiting }: Arrivals,
  known: readonly MessageView[],
  isRead: boolean,
): { live: Record<string, string>; waiting: Record<string, string> } {
  const next = { ...live }
  const kept: Record<string, string> = {}
  for (const [id, text] of Object.entries(waiting)) {
    const message = known.find((candidate) => candidate.id === id)
    if (message !== undefined && message.status !== 'streaming') continue
    if (!isRead && message !== undefined && next[id] === undefined) kept[id] = text
    else next[id] = (next[id] ?? '') + text
  }
  return { live: Object.fromEntries(Object.entries(next).slice(-mostLive)), waiting: kept }
}
