import { expect, it } from 'vitest'
import type { AppEvent } from '../../shared/contract/app.ts'
import { createCoalescer, createDispatch } from './dispatch.ts'
import { resourceNames, type Stores } from './stores.ts'

function setUp(openChatId: string) {
  const calls: string[] = []
  const note = (name: string) => () => void calls.push(name)
  const resources = resourceNames.map((name) => [
    name,
    { getState: () => ({ refresh: note(name), set: note(`set ${name}`) }) },
  ])
  const conversation = {
    getState: () => ({
      chatId: openChatId,
      refresh: note('conversation'),
      token: (id: string, text: string) => calls.push(`token ${id} ${text}`),
    }),
  }
  const stores = { ...Object.fromEntries(resources), conversation } as unknown as Stores
  const due: (() => void)[] = []
  const dispatch = createDispatch(
    stores,
    createCoalescer((run) => due.push(run)),
  )
  const send = (...events: AppEvent[]): string[] => {
    for (const event of events) dispatch(event)
    for (const run of due.splice(0)) run()
    return calls.splice(0)
  }
  return send
}

it('passes tokens of every chat on at once, since it may be opened in mid-reply', () => {
  const send = setUp('c1')
  expect(
    send(
      { kind: 'token', chatId: 'c1', messageId: 'm', text: 'a' },
      { kind: 'token', chatId: 'c2', messageId: 'n', text: 'b' },
    ),
  ).toEqual(['token m a', 'token n b'])
})

it('reads once after a burst', () => {
  const send = setUp('c1')
  const changed: AppEvent = { kind: 'chat-changed', chatId: 'c1' }
  expect(send(changed, changed, changed).toSorted()).toEqual(['chats', 'conversation'])
})

it('reads what each event touches', () => {
  const send = setUp('c1')
  expect(send({ kind: 'chat-changed', chatId: 'c2' })).toEqual(['chats'])
  expect(send({ kind: 'hints-changed' })).toEqual(['conversation', 'hints', 'notes'])
  expect(send({ kind: 'overlap', runId: 'r', sampleId: 's' })).toEqual(['heatMaps'])
  expect(send({ kind: 'curves-changed' })).toEqual(['curves', 'runs'])
  expect(send({ kind: 'versions-changed' })).toContain('versions')
  expect(send({ kind: 'settings-changed' })).toEqual(['settings', 'system'])
  expect(send({ kind: 'system-changed' })).toEqual(['system'])
})
