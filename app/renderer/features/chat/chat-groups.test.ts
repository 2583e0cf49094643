import { expect, it } from 'vitest'
import { groupByDay, matching } from './chat-groups.ts'

const now = new Date(2026, 2, 10, 9, 0).getTime()
const hour = 3600 * 1000

function chatAt(id: string, updatedAt: number) {
  return {
    id,
    title: id,
    createdAt: 0,
    updatedAt,
    learn: true,
    activeLeafId: null,
    deletedAt: null,
  }
}

it('groups by calendar day, newest first, without empty groups', () => {
  const chats = [
    chatAt('old', now - 80 * hour),
    chatAt('late last night', now - 10 * hour),
    chatAt('this morning', now - hour),
    chatAt('now', now),
  ]
  const groups = groupByDay(chats, now).map(({ day, chats: list }) => [
    day,
    list.map(({ id }) => id),
  ])
  expect(groups).toEqual([
    ['today', ['now', 'this morning']],
    ['yesterday', ['late last night']],
    ['earlier', ['old']],
  ])
  expect(groupByDay([], now)).toEqual([])
})

it('finds titles in any case', () => {
  expect(matching([chatAt('Osmosis', 0), chatAt('Shell', 0)], ' osm ').map(({ id }) => id)).toEqual(
    ['Osmosis'],
  )
})
