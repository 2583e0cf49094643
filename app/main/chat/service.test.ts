import { describe, expect, it } from 'vitest'
import type { AppEvent } from '../../shared/contract/app.ts'
import type { Note } from '../../shared/domain/hint.ts'
import { AppError } from '../../shared/errors.ts'
import { scriptedPolicy, type Answer } from '../../../test/support/scripted-policy.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openStore } from '../store/index.ts'
import { createChatService } from './service.ts'
import { chatView } from './view.ts'

async function setUp(answers: Answer[], notes: readonly Note[] = []) {
  const folder = await temporaryFolder()
  const store = openStore({ dataDir: folder.path })
  const events: AppEvent[] = []
  const owed: string[] = []
  const { policy, asked } = scriptedPolicy({ answer: () => answers.shift() })
  const service = createChatService({
    store,
    policy: () => policy,
    publish: (event) => events.push(event),
    scaffold: () => notes,
    onNextState: (turnId) => owed.push(turnId),
    onTurn: () => undefined,
    seed: () => 7,
  })
  const chat = store.createChat()
  return {
    store,
    service,
    chat,
    events,
    owed,
    asked,
    view: () => chatView(store, chat.id, 512),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      store[Symbol.dispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

describe('the chat service', () => {
  it('stores the message first, streams, and keeps the exact turn', async () => {
    await using app = await setUp([{ pieces: ['Wa', 'ter.'] }])
    const sent = app.service.send({ chatId: app.chat.id, text: 'Explain osmosis.' })
    expect(app.store.message(sent.userMessageId)?.text).toBe('Explain osmosis.')
    await app.service.settled(app.chat.id)
    const reply = app.view().messages.at(-1)
    expect(reply).toMatchObject({ id: sent.replyMessageId, text: 'Water.', status: 'complete' })
    const turn = app.store.turn(reply?.turnId ?? '')
    expect(turn).toMatchObject({
      responseIds: [10, 11],
      logProbs: [-0.5, -0.5],
      seed: 7,
      version: 0,
    })
    expect(turn?.bareIds).toEqual(turn?.promptIds)
    expect(app.store.chat(app.chat.id)?.title).toBe('Explain osmosis.')
    const streamed = app.events.flatMap((event) => (event.kind === 'token' ? [event.text] : []))
    expect(streamed.join('')).toBe('Water.')
  })

  it('closes the previous turn when the user goes on, and only once', async () => {
    await using app = await setUp([{ pieces: ['A.'] }, { pieces: ['B.'] }, { pieces: ['C.'] }])
    app.service.send({ chatId: app.chat.id, text: 'One' })
    await app.service.settled(app.chat.id)
    const turnId = app.view().messages.at(-1)?.turnId ?? ''
    const second = app.service.send({ chatId: app.chat.id, text: 'Too long.' })
    await app.service.settled(app.chat.id)
    app.service.editAndResend({ messageId: second.userMessageId, text: 'Much too long.' })
    await app.service.settled(app.chat.id)
    const closing = app.store.signals(turnId).filter((signal) => signal.kind === 'next-message')
    expect(closing.map((signal) => signal.text)).toEqual(['Too long.'])
    expect(app.owed).toContain(turnId)
    expect(app.store.judgeTask(turnId)?.state).toBe('owed')
  })

  it('puts approved notes into the prompt and keeps the bare prompt beside it', async () => {
    const note: Note = {
      id: 'n1',
      text: 'Use at most 40 words.',
      scope: { kind: 'everywhere' },
      count: 1,
      check: null,
      state: 'prompt',
      learnedIn: null,
      createdAt: 1,
      updatedAt: 1,
    }
    await using app = await setUp([{ pieces: ['A.'] }], [note])
    app.service.send({ chatId: app.chat.id, text: 'Explain tides.' })
    await app.service.settled(app.chat.id)
    const turn = app.store.turns(app.chat.id)[0]
    const text = String.fromCodePoint(...(turn?.promptIds ?? []))
    expect(text).toContain('Use at most 40 words.')
    expect(String.fromCodePoint(...(turn?.bareIds ?? []))).toBe('Explain tides.')
    expect(turn?.scaffoldNoteIds).toEqual(['n1'])
  })

  it('keeps the partial text when the user stops', async () => {
    const gate = Promise.withResolvers<void>()
    await using app = await setUp([{ pieces: ['Half'], wait: gate.promise }])
    app.service.send({ chatId: app.chat.id, text: 'Go' })
    app.service.stop(app.chat.id)
    gate.resolve()
    await app.service.settled(app.chat.id)
    expect(app.view().messages.at(-1)).toMatchObject({ text: 'Half', status: 'stopped' })
  })

  it('shows a failure as words on the reply and keeps the message', async () => {
    const fail = new AppError('out-of-memory', 'Not enough memory for the context.')
    await using app = await setUp([{ pieces: ['Par'], fail }])
    app.service.send({ chatId: app.chat.id, text: 'Go' })
    await app.service.settled(app.chat.id)
    const [user, reply] = app.view().messages
    expect(user?.text).toBe('Go')
    expect(reply).toMatchObject({
      status: 'failed',
      error: fail.message,
      text: 'Par',
      turnId: null,
    })
  })

  it('says so when a prompt is longer than the context, before decoding', async () => {
    await using app = await setUp([])
    app.service.send({ chatId: app.chat.id, text: 'x'.repeat(3000) })
    await app.service.settled(app.chat.id)
    expect(app.view().messages.at(-1)).toMatchObject({ status: 'failed' })
    expect(app.view().messages.at(-1)?.error).toContain('too many tokens')
    expect(app.asked).toHaveLength(0)
  })

  it('refuses an empty message and stores nothing', async () => {
    await using app = await setUp([])
    expect(() => app.service.send({ chatId: app.chat.id, text: ' ' })).toThrow('empty')
    expect(app.view().messages).toHaveLength(0)
  })

  it('refuses a second message while a reply is being written', async () => {
    const gate = Promise.withResolvers<void>()
    await using app = await setUp([{ pieces: ['A'], wait: gate.promise }])
    app.service.send({ chatId: app.chat.id, text: 'One' })
    expect(() => app.service.send({ chatId: app.chat.id, text: 'Two' })).toThrow(
      'still being written',
    )
    gate.resolve()
  })

  it('makes a sibling on regenerate and counts the signal once per prompt', async () => {
    await using app = await setUp([{ pieces: ['A'] }, { pieces: ['B'] }, { pieces: ['C'] }])
    const sent = app.service.send({ chatId: app.chat.id, text: 'One' })
    await app.service.settled(app.chat.id)
    const second = app.service.regenerate(sent.replyMessageId)
    await app.service.settled(app.chat.id)
    app.service.regenerate(second.replyMessageId)
    await app.service.settled(app.chat.id)
    expect(app.view().messages.at(-1)?.siblingIds).toHaveLength(3)
    const signals = app.store.turns(app.chat.id).flatMap((turn) => app.store.signals(turn.id))
    expect(signals.map((signal) => signal.kind)).toEqual(['regenerate'])
    app.service.selectBranch(sent.replyMessageId)
    expect(app.view().messages.at(-1)?.text).toBe('A')
  })

  it('keeps an edited reply as a sibling and owes a judgement of the old one', async () => {
    await using app = await setUp([{ pieces: ['Long answer'] }])
    const sent = app.service.send({ chatId: app.chat.id, text: 'One' })
    await app.service.settled(app.chat.id)
    const turnId = app.view().messages.at(-1)?.turnId ?? ''
    app.service.editReply({ messageId: sent.replyMessageId, text: 'Short.' })
    expect(app.view().messages.at(-1)).toMatchObject({
      text: 'Short.',
      editOf: sent.replyMessageId,
    })
    expect(app.store.signals(turnId).map((signal) => signal.kind)).toEqual(['edit'])
    expect(app.owed).toEqual([turnId])
  })
})
