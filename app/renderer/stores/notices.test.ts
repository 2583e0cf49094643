import { expect, it } from 'vitest'
import { AppError } from '../../shared/errors.ts'
import { createAttempt, createNotices } from './notices.ts'

it('turns a failed action into a notice and says so', async () => {
  const notices = createNotices()
  const attempt = createAttempt(notices)
  expect(await attempt(async () => 1)).toBe(true)
  expect(await attempt(() => Promise.reject(new AppError('busy', 'a run goes on')))).toBe(false)
  expect(
    notices.getState().list.map(({ body }) => body.kind === 'error' && body.error.code),
  ).toEqual(['busy'])
})

it('says nothing about a lost connection, which has its own bar, or about stopping', async () => {
  const notices = createNotices()
  const attempt = createAttempt(notices)
  const lost = new AppError('unavailable', '', { data: { connection: 'lost' } })
  expect(await attempt(() => Promise.reject(lost))).toBe(false)
  expect(await attempt(() => Promise.reject(new AppError('cancelled', '')))).toBe(false)
  expect(notices.getState().list).toEqual([])
})

it('keeps the newest few', () => {
  const notices = createNotices()
  for (let title = 0; title < 9; title += 1) {
    notices.getState().add({ kind: 'deleted', title: String(title), undo: () => undefined })
  }
  const titles = notices.getState().list.map(({ body }) => body.kind === 'deleted' && body.title)
  expect(titles).toEqual(['5', '6', '7', '8'])
})
