import { describe, expect, it } from 'vitest'
import type { ChatView, MessageView } from '../../shared/contract/app.ts'
import { AppError } from '../../shared/errors.ts'
import type { Host } from '../rpc/client.ts'
import { createConversation, streamingMessage } from './conversation.ts'
import { settleLive } from './streaming.ts'

const chat = {
  id: 'c1',
  title: '',
  createdAt: 0,
  updatedAt: 0,
  learn: true,
  activeLeafId: null,
  deletedAt: null,
}

function reply(text: string, status: MessageView['status']): MessageView {
  return {
    id: 'm1',
    chatId: 'c1',
    parentId: null,
    role: 'assistant',
    text,
    status,
    error: null,
    turnId: null,
    editOf: null,
    createdAt: 0,
    siblingIds: ['m1'],
    turn: null,
  }
}

const viewWith = (message: MessageView): ChatView => ({
  chat,
  messages: [message],
  contextTokens: 0,
  contextSize: 0,
})

/** Only the calls that the conversation makes. */
function fakeHost(
  calls: Partial<Record<'view' | 'send' | 'create', (input: never) => unknown>>,
): Host {
  const call = (name: keyof typeof calls) => async (input: never) => calls[name]?.(input)
  return {
    chats: { view: call('view'), create: call('create') },
    chat: { send: call('send') },
  } as unknown as Host
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

function setUp(host: Host) {
  const due: (() => void)[] = []
  const defer = ((run: () => void) => due.push(run)) as unknown as typeof setTimeout
  const store = createConversation(host, defer)
  const flush = (): void => due.splice(0).forEach((run) => run())
  return { store, flush }
}

describe('streaming', () => {
  it('appends tokens to the reply in one go per frame', async () => {
    const { store, flush } = setUp(fakeHost({ view: () => viewWith(reply('Os', 'streaming')) }))
    store.getState().open('c1')
    await settle()
    store.getState().token('m1', 'mo')
    store.getState().token('m1', 'sis')
    expect(store.getState().live['m1']).toBe('Os')
    flush()
    expect(store.getState().live['m1']).toBe('Osmosis')
  })

  it('shows the stored text as soon as the reply is complete', async () => {
    let view = viewWith(reply('Os', 'streaming'))
    const { store, flush } = setUp(fakeHost({ view: () => view }))
    store.getState().open('c1')
    await settle()
    store.getState().token('m1', 'mo')
    flush()
    view = viewWith(reply('Osmosis.', 'complete'))
    await store.getState().refresh()
    expect(store.getState().live).toEqual({})
  })

  it('ignores a token that arrives after the end', async () => {
    const { store, flush } = setUp(fakeHost({ view: () => viewWith(reply('Done.', 'complete')) }))
    store.getState().open('c1')
    await settle()
    store.getState().token('m1', ' late')
    flush()
    expect(store.getState().live).toEqual({})
  })

  it('has the whole reply of a chat that is opened in mid-reply', async () => {
    const { store, flush } = setUp(fakeHost({ view: () => viewWith(reply('Os', 'streaming')) }))
    for (const part of ['Os', 'mo', 'sis']) store.getState().token('m1', part)
    flush()
    store.getState().open('c1')
    store.getState().token('m1', ' is')
    await settle()
    expect(store.getState().live['m1']).toBe('Osmosis is')
  })

  it('does not join over a gap: after a reconnection the stored text leads', async () => {
    let view = viewWith(reply('abc', 'streaming'))
    const { store, flush } = setUp(fakeHost({ view: () => view }))
    store.getState().open('c1')
    await settle()
    view = viewWith(reply('abcdefg', 'streaming'))
    const reread = store.getState().reconnect()
    store.getState().token('m1', 'gh')
    flush()
    expect(store.getState().live['m1']).toBeUndefined()
    await reread
    expect(store.getState().live['m1']).toBe('abcdefgh')
  })

  it('is over when the last message is not being written', () => {
    expect(streamingMessage(viewWith(reply('x', 'streaming')))?.id).toBe('m1')
    expect(streamingMessage(viewWith(reply('x', 'stopped')))).toBeNull()
  })

  it('merges what is stored with what came meanwhile', () => {
    expect(settleLive({ m1: 'mosis is' }, [reply('Osmo', 'streaming')])).toEqual({
      m1: 'Osmosis is',
    })
  })
})

describe('opening', () => {
  it('does not let a slow answer for the chat before overwrite the open one', async () => {
    const first = Promise.withResolvers<ChatView>()
    const second = { ...viewWith(reply('two', 'complete')), chat: { ...chat, id: 'c2' } }
    const host = fakeHost({
      view: ({ chatId }: { chatId: string }) => (chatId === 'c1' ? first.promise : second),
    } as never)
    const { store } = setUp(host)
    store.getState().open('c1')
    store.getState().open('c2')
    await settle()
    first.resolve(viewWith(reply('one', 'complete')))
    await settle()
    const { view } = store.getState()
    expect(view.status === 'ready' && view.value.chat.id).toBe('c2')
  })

  it('keeps what is shown when reading again fails', async () => {
    let failure: AppError | null = null
    const host = fakeHost({
      view: () => {
        if (failure !== null) throw failure
        return viewWith(reply('kept', 'complete'))
      },
    })
    const { store } = setUp(host)
    store.getState().open('c1')
    await settle()
    failure = new AppError('unavailable', '')
    await store.getState().refresh()
    expect(store.getState().view.status).toBe('ready')
    failure = new AppError('not-found', 'deleted elsewhere')
    await store.getState().refresh()
    expect(store.getState().view).toEqual({ status: 'failed', error: failure })
  })
})

describe('sending', () => {
  it('makes the chat first when there is none', async () => {
    const sent: unknown[] = []
    const host = fakeHost({ create: () => chat, send: (input) => sent.push(input) })
    const { store } = setUp(host)
    expect(await store.getState().send('  Hello ')).toBe('c1')
    expect(sent).toEqual([{ chatId: 'c1', text: 'Hello' }])
  })

  it('passes the host’s refusal on, so that the words can stay in the field', async () => {
    const host = fakeHost({
      create: () => chat,
      send: () => {
        throw new AppError('disk-full', '0 bytes')
      },
    })
    await expect(setUp(host).store.getState().send('Hello')).rejects.toMatchObject({
      code: 'disk-full',
    })
  })
})
