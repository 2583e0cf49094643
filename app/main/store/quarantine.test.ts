import { describe, expect, test } from 'vitest'
import { listEvents } from './events.ts'
import { listQuarantine } from './table.ts'
import { newSample, newTurn, proposal, testStore, userMessage } from './test-store.ts'

describe('a row that cannot be read', () => {
  test('leaves the list, whole and with its reason, and the others stay', () => {
    using env = testStore()
    const [bad, good] = [env.store.createChat(), env.store.createChat()]
    env.connection.run(`UPDATE chats SET learn = 7, title = 'precious' WHERE id = ?`, bad.id)
    expect(env.store.chats()).toEqual([good])
    const [row, ...others] = listQuarantine(env.connection)
    expect(others).toEqual([])
    expect(row).toMatchObject({
      table: 'chats',
      content: { id: bad.id, title: 'precious', learn: 7 },
    })
    expect(row?.reason).toContain('learn')
    expect(env.store.chat(bad.id)).toBeNull()
    expect(listEvents(env.connection)).toMatchObject([
      { kind: 'row-quarantined', subject: 'chats' },
    ])
  })

  test('in the middle of a branch does not cost the rest of the branch', () => {
    using env = testStore()
    const chat = env.store.createChat()
    const root = env.store.addMessage(userMessage(chat.id, null, 'root'))
    const bad = env.store.addMessage(userMessage(chat.id, root.id, 'bad'))
    const leaf = env.store.addMessage(userMessage(chat.id, bad.id, 'leaf'))
    env.connection.run(`UPDATE messages SET role = 'ghost' WHERE id = ?`, bad.id)
    expect(env.store.messages(chat.id)).toEqual([root, leaf])
    expect(env.store.path(leaf.id)).toEqual([leaf])
  })

  test.each([
    ['ids of half a number', `UPDATE turns SET prompt_ids = x'010203'`, 'promptIds'],
    ['log-probabilities of half a number', `UPDATE turns SET log_probs = x'01'`, 'logProbs'],
    ['a reward that is no JSON', `UPDATE turns SET reward = '{'`, 'reward'],
    ['an unknown kind of reward', `UPDATE turns SET reward = '{"kind":"great"}'`, 'reward'],
  ])('with %s is moved with its bytes', (_, damage, field) => {
    using env = testStore()
    const turn = env.store.addTurn(newTurn('chat-1'))
    env.connection.run(damage)
    expect(env.store.recentTurns(5)).toEqual([])
    const [row] = listQuarantine(env.connection)
    expect(row?.reason).toContain(field)
    expect(row?.content).toMatchObject({
      id: turn.id,
      response_ids: { hex: '070000000800000002000000' },
    })
  })

  test('among hints and samples does not reach training', () => {
    using env = testStore()
    env.store.addHints({ id: 't', chatId: 'c' }, [proposal('a'), proposal('b')])
    env.connection.run(`UPDATE hints SET quality_reasons = '[1]' WHERE text = 'a'`)
    env.store.addSample(newSample('s'))
    env.connection.run('UPDATE samples SET reward = 3')
    expect(env.store.hints().map(({ text }) => text)).toEqual(['b'])
    expect(env.store.samples(['ready'])).toEqual([])
    expect(listQuarantine(env.connection)).toHaveLength(2)
  })

  test('with a field nobody knows is read without it', () => {
    using env = testStore()
    env.store.addTurn(newTurn('chat-1'))
    env.connection.run(`UPDATE turns SET reward = '{"kind":"waiting","fromTheFuture":1}'`)
    expect(env.store.recentTurns(1)[0]?.reward).toEqual({ kind: 'waiting' })
  })
})
