// Random sequences of operations against a model in plain objects: chats, the tree of messages, hints.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Chat, Message } from '../../shared/domain/chat.ts'
import type { Hint, HintState } from '../../shared/domain/hint.ts'
import { proposal, testFolder, testStore, userMessage } from './test-store.ts'
import type { TestStore } from './test-store.ts'
import type { Store } from './types.ts'

interface Model {
  chats: Map<string, Chat>
  messages: Message[]
  hints: Hint[]
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const pick = fc.nat(1000)
const state = fc.constantFrom<HintState>('proposed', 'approved', 'edited', 'vetoed', 'expired')

const step = fc.oneof(
  fc.record({ kind: fc.constant('chat' as const) }),
  fc.record({ kind: fc.constant('title' as const), chat: pick, text, trash: fc.boolean() }),
  fc.record({ kind: fc.constant('say' as const), chat: pick, parent: fc.option(pick), text }),
  fc.record({ kind: fc.constant('grow' as const), message: pick, text }),
  fc.record({ kind: fc.constant('look' as const), message: pick }),
  fc.record({ kind: fc.constant('hints' as const), texts: fc.array(text, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('decide' as const), hint: pick, state }),
)
type ValueOf<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never
type Step = ValueOf<typeof step>

const operation = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('step' as const), step }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('together' as const),
      steps: fc.array(step, { maxLength: 5 }),
      // Where the inner savepoint, and then the whole, is given up.
      innerFails: fc.boolean(),
      outerFails: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
)
type Operation = ValueOf<typeof operation>

class GiveUp extends Error {}

function at<Value>(values: readonly Value[], index: number): Value | undefined {
  return values.length === 0 ? undefined : values[index % values.length]
}

function change<Value extends { id: string }>(values: Value[], id: string, fields: Partial<Value>) {
  return values.map((value) => (value.id === id ? { ...value, ...fields } : value))
}

/** Does one step in the store and in the model; times are taken from the store, all else is foretold. */
function doStep(store: Store, model: Model, action: Step): void {
  const chats = [...model.chats.values()]
  switch (action.kind) {
    case 'chat': {
      const { id, createdAt } = store.createChat()
      const times = { createdAt, updatedAt: createdAt, deletedAt: null }
      model.chats.set(id, { id, title: '', learn: true, activeLeafId: null, ...times })
      return
    }
    case 'title': {
      const chat = at(chats, action.chat)
      if (chat === undefined) return
      const fields = { title: action.text, deletedAt: action.trash ? 5 : null }
      const { updatedAt } = store.updateChat(chat.id, fields)
      expect(updatedAt).toBeGreaterThan(chat.updatedAt)
      model.chats.set(chat.id, { ...chat, ...fields, updatedAt })
      return
    }
    case 'say':
      return say(store, model, action)
    case 'grow': {
      const message = at(model.messages, action.message)
      if (message === undefined) return
      const fields = { text: message.text + action.text, status: 'stopped' } as const
      store.updateMessage(message.id, fields)
      model.messages = change(model.messages, message.id, fields)
      return
    }
    case 'look': {
      const message = at(model.messages, action.message)
      const chat = model.chats.get(message?.chatId ?? '')
      if (message === undefined || chat === undefined) return
      store.updateChat(chat.id, { activeLeafId: message.id })
      model.chats.set(chat.id, { ...chat, activeLeafId: message.id })
      return
    }
    case 'hints':
      model.hints.push(...store.addHints({ id: 't', chatId: 'c' }, action.texts.map(proposal)))
      return
    case 'decide':
      return decide(store, model, action)
  }
}

function say(store: Store, model: Model, action: Extract<Step, { kind: 'say' }>): void {
  const chat = at([...model.chats.values()], action.chat)
  if (chat === undefined) return
  const siblings = model.messages.filter(({ chatId }) => chatId === chat.id)
  const parentId = action.parent === null ? null : (at(siblings, action.parent)?.id ?? null)
  const message = userMessage(chat.id, parentId, action.text)
  const { id, createdAt } = store.addMessage(message)
  model.messages.push({ ...message, id, createdAt })
  model.chats.set(chat.id, { ...chat, updatedAt: createdAt })
}

function decide(store: Store, model: Model, action: Extract<Step, { kind: 'decide' }>): void {
  const hint = at(model.hints, action.hint)
  if (hint === undefined) return
  const isBack = action.state === 'proposed'
  const fields = { state: action.state, decidedBy: isBack ? null : 'user' } as const
  const { decidedAt } = store.updateHint(hint.id, fields)
  if (action.state === hint.state) expect(decidedAt).toBe(hint.decidedAt)
  else expect(decidedAt === null).toBe(isBack)
  model.hints = change(model.hints, hint.id, { ...fields, decidedAt })
}

function copyOf(model: Model): Model {
  return { chats: new Map(model.chats), messages: [...model.messages], hints: [...model.hints] }
}

/** Half of the steps in a savepoint of their own; what is given up must leave no trace. */
function together(
  store: Store,
  model: Model,
  action: Extract<Operation, { kind: 'together' }>,
): Model {
  const half = Math.ceil(action.steps.length / 2)
  let draft = copyOf(model)
  const inner = (): void => {
    const innerDraft = copyOf(draft)
    store.transaction(() => {
      for (const one of action.steps.slice(half)) doStep(store, innerDraft, one)
      if (action.innerFails) throw new GiveUp()
    })
    draft = innerDraft
  }
  const outer = (): void =>
    store.transaction(() => {
      for (const one of action.steps.slice(0, half)) doStep(store, draft, one)
      if (action.innerFails) expect(inner).toThrow(GiveUp)
      else inner()
      if (action.outerFails) throw new GiveUp()
    })
  if (!action.outerFails) {
    outer()
    return draft
  }
  expect(outer).toThrow(GiveUp)
  return model
}

function expectSame(store: Store, model: Model): void {
  const chats = [...model.chats.values()]
  const shown = chats.filter(({ deletedAt }) => deletedAt === null)
  expect(store.chats()).toEqual(shown.sort((a, b) => b.updatedAt - a.updatedAt))
  for (const chat of chats) {
    expect(store.chat(chat.id)).toEqual(chat)
    expect(store.messages(chat.id)).toEqual(
      model.messages.filter(({ chatId }) => chatId === chat.id),
    )
  }
  for (const message of model.messages)
    expect(store.path(message.id)).toEqual(pathTo(model, message))
  expect(store.hints()).toEqual(model.hints)
}

function pathTo(model: Model, leaf: Message): Message[] {
  const parent = model.messages.find(({ id }) => id === leaf.parentId)
  return parent === undefined ? [leaf] : [...pathTo(model, parent), leaf]
}

test('whatever is done, the store holds what the model holds, also after opening again', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 25 }), (operations) => {
      using folder = testFolder()
      let time = 0
      const now = () => (time += 1)
      let env: TestStore = testStore(folder, now)
      try {
        let model: Model = { chats: new Map(), messages: [], hints: [] }
        for (const action of operations) {
          if (action.kind === 'step') doStep(env.store, model, action.step)
          else if (action.kind === 'together') model = together(env.store, model, action)
          else {
            env[Symbol.dispose]()
            env = testStore(folder, now)
          }
          expectSame(env.store, model)
        }
      } finally {
        env[Symbol.dispose]()
      }
    }),
    { numRuns: 80, seed: 20_261_201 },
  )
})
