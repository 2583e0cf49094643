import type { Chat } from '../../../shared/domain/chat.ts'

export interface DayGroup {
  day: 'today' | 'yesterday' | 'earlier'
  chats: Chat[]
}

const days: readonly DayGroup['day'][] = ['today', 'yesterday', 'earlier']

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0)
}

function dayOf(at: number, now: number): DayGroup['day'] {
  const today = startOfDay(now)
  if (at >= today) return 'today'
  // The day before is found by its noon, so that a change of summer time does not matter.
  return at >= startOfDay(today - 12 * 3600 * 1000) ? 'yesterday' : 'earlier'
}

/** Newest first, in at most three groups; a group without chats is left out. */
export function groupByDay(chats: readonly Chat[], now: number): DayGroup[] {
  const newestFirst = chats.toSorted((a, b) => b.updatedAt - a.updatedAt)
  return days
    .map((day) => ({
      day,
      chats: newestFirst.filter((chat) => dayOf(chat.updatedAt, now) === day),
    }))
    .filter((group) => group.chats.length > 0)
}

export function matching(chats: readonly Chat[], words: string): Chat[] {
  const wanted = words.trim().toLowerCase()
  return chats.filter((chat) => chat.title.toLowerCase().includes(wanted))
}
