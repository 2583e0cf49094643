import { expect, test, vi } from 'vitest'
import type { Hint } from '../app/shared/domain/hint.ts'
import { connect } from './client.ts'
import { settle } from './learning.ts'
import { brief } from './personas/brief.ts'
import { complaintLines } from './personas/persona.ts'
import { createRandom } from './random.ts'
import { openScriptedApp, type Script } from './scripted-app.ts'
import { askOnce, playSession, type UserOptions } from './user.ts'
import { openWatch } from './watch.ts'

const long = Array.from({ length: 60 }, () => 'word').join(' ')
const short = 'It is water that passes through a thin skin.'

type Change = Partial<Pick<UserOptions, 'wrongSignals' | 'readsLastReply' | 'speaker'>>

async function visit(script: Script, change: Change = {}) {
  const stack = new AsyncDisposableStack()
  const app = stack.use(await openScriptedApp(script))
  const connection = stack.use(await connect(app.startUrl))
  const watch = stack.use(await openWatch(connection))
  const user: UserOptions = {
    connection,
    watch,
    persona: brief,
    random: createRandom(1),
    wording: 'open',
    maxCorrections: 2,
    wrongSignals: 0,
    readsLastReply: false,
    ...change,
  }
  return { app, user, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const said = (log: readonly string[]) =>
  log.filter((line) => line.startsWith('say')).map((line) => line.replace(/^say \d+ /, ''))

test('a wrong reply is corrected with the wish and the second try is thanked for', async () => {
  await using place = await visit({ reply: (_, nth) => (nth === 1 ? long : short) })
  const result = await playSession(place.user, 'Explain osmosis.')
  const [request, complaint, thanks] = said(place.app.log)
  expect(request).toBe('Explain osmosis.')
  expect(complaintLines(brief, 'open')).toContain(complaint)
  expect(thanks).toMatch(/thank|perfect|great|lovely|nice/i)
  expect(result).toMatchObject({ corrections: 1, satisfied: true, end: 'thanks' })
  expect(result.firstReply).toMatchObject({ satisfied: false, detail: '60 words' })
  expect(result).toMatchObject({
    request: 'Explain osmosis.',
    lastReply: short,
    reactions: [-1, 1],
  })
})

test('a user who was never satisfied gives up after two corrections without a thanks', async () => {
  await using place = await visit({ reply: () => long })
  const result = await playSession(place.user, 'Explain osmosis.')
  expect(said(place.app.log)).toHaveLength(3)
  expect(result).toMatchObject({ corrections: 2, satisfied: false, end: 'gave-up' })
  expect(result.reactions).toEqual([-1, -1, null])
})

test('a user whose words come from elsewhere is asked with what was said', async () => {
  const speaker = vi.fn(async () => 'Too long for me, 40 words.')
  await using place = await visit({ reply: (_, nth) => (nth === 1 ? long : short) }, { speaker })
  await playSession(place.user, 'Explain osmosis.')
  expect(said(place.app.log)[1]).toBe('Too long for me, 40 words.')
  expect(speaker).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ request: 'Explain osmosis.', reply: long }),
  )
})

test('a user who had to correct is silent or elsewhere now and then, too', async () => {
  await using place = await visit({ reply: (_, nth) => (nth === 1 ? long : short) })
  const ends = new Set<string>()
  for (let session = 0; session < 30; session++) {
    ends.add((await playSession(place.user, 'Explain osmosis.')).end)
  }
  expect([...ends].sort()).toEqual(['other-topic', 'silence', 'thanks'])
})

test('a right first reply is never complained about', async () => {
  await using place = await visit({ reply: () => short })
  const complaints = complaintLines(brief, 'all')
  const ends = new Set<string>()
  for (let session = 0; session < 30; session++) {
    const result = await playSession(place.user, 'Explain osmosis.')
    expect(result).toMatchObject({ corrections: 0, satisfied: true })
    ends.add(result.end)
  }
  expect(said(place.app.log).filter((line) => complaints.includes(line))).toEqual([])
  expect([...ends].sort()).toEqual(['other-topic', 'silence', 'thanks'])
})

test('with only wrong signals a right reply is complained about and a wrong one thanked for', async () => {
  await using place = await visit({ reply: () => long }, { wrongSignals: 1 })
  const result = await playSession(place.user, 'Explain osmosis.')
  expect(result).toMatchObject({ corrections: 0, satisfied: false })
  expect(result.firstReply.satisfied).toBe(false)
})

test('a measured reply is asked for in a chat that does not learn', async () => {
  await using place = await visit({ reply: () => short })
  expect(await askOnce(place.user, 'Explain tides.')).toBe(short)
  expect(place.app.log).toEqual(['create 1', 'learn 1 false', 'say 1 Explain tides.'])
})

test('a reply that failed ends the benchmark with its reason', async () => {
  await using place = await visit({ reply: () => null })
  await expect(playSession(place.user, 'Explain tides.')).rejects.toThrow('failed: no model')
})

test('a start URL whose token was used gives no session', async () => {
  await using app = await openScriptedApp({ reply: () => short })
  await using first = await connect(app.startUrl)
  expect(first.closed.aborted).toBe(false)
  await expect(connect(app.startUrl)).rejects.toThrow('its token works once')
})

test('an address where nothing runs is named', async () => {
  await expect(connect('http://127.0.0.1:9/?token=x')).rejects.toThrow('http://127.0.0.1:9')
})

test('waiting ends when the host goes away', async () => {
  const place = await visit({ reply: () => short })
  const waiting = place.user.watch.until('a wonder', 60_000, async () => null)
  const failure = expect(waiting).rejects.toThrow('the host went away during: a wonder')
  await place.app[Symbol.asyncDispose]()
  await failure
  await place[Symbol.asyncDispose]()
})

test('hints that are still proposed are approved between sessions', async () => {
  const hint = (id: string, state: Hint['state']): Hint => ({
    id,
    turnId: 't1',
    chatId: '1',
    text: 'Use at most 40 words.',
    source: 'extracted',
    quote: null,
    state,
    decidedBy: null,
    quality: 1,
    qualityReasons: [],
    noteId: null,
    shownMs: 0,
    createdAt: 1,
    decidedAt: null,
  })
  await using place = await visit({
    reply: (_, nth) => (nth === 1 ? long : short),
    hints: [hint('a', 'proposed'), hint('b', 'vetoed')],
  })
  const { chatId } = await playSession(place.user, 'Explain osmosis.')
  const settled = await settle(place.user.connection.client, place.user.watch, chatId)
  expect(settled).toMatchObject({ rewards: '-1 -1', hints: 2, judgeErrors: [] })
  expect(settled.turns.map(({ id }) => id)).toEqual(['t1', 't2'])
  expect(place.app.log.filter((line) => line.startsWith('approve'))).toEqual(['approve a'])
})
