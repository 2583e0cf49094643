import { describe, expect, it } from 'vitest'
import {
  learningBench,
  proposal,
  type BenchOptions,
  type LearningBench,
} from '../../../test/support/learning-bench.ts'
import type { Verdict } from '../../shared/contract/prm.ts'
import type { NewVote, Turn } from '../../shared/domain/turn.ts'
import { AppError } from '../../shared/errors.ts'
import { createJudging } from './judging.ts'

const vote: NewVote = {
  source: 'rule',
  name: 'correction',
  value: -1,
  weight: 1,
  raw: 'too long',
  durationMs: 1,
}

const rejected: Verdict = {
  reward: { kind: 'decided', value: -1, by: 'votes' },
  votes: [vote],
  hints: [proposal('Use at most 4 words.')],
}

async function judged(options: BenchOptions = {}) {
  const bench = await learningBench({ judge: () => rejected, ...options })
  const called: string[] = []
  const judging = createJudging(bench.deps, {
    onHints: (turnId) => called.push(`hints ${turnId}`),
    onVerdict: (turnId) => called.push(`verdict ${turnId}`),
    onSettled: () => called.push('settled'),
    judgeMode: () => 'off',
  })
  return {
    bench,
    judging,
    called,
    async [Symbol.asyncDispose]() {
      await judging[Symbol.asyncDispose]()
      await bench[Symbol.asyncDispose]()
    },
  }
}

/** A reply with the message that followed it, as the chat service stores them. */
function followed(bench: LearningBench, text = 'Too long.'): Turn {
  const turn = bench.exchange({ request: 'Explain osmosis.', reply: 'Water moves.' })
  const signal = { kind: 'next-message', value: null, messageId: null } as const
  bench.store.addSignal({ turnId: turn.id, text, ...signal })
  bench.store.setJudgeTask(turn.id, 'owed')
  return turn
}

describe('judging', () => {
  it('stores the verdict with its votes and hints, then says what follows', async () => {
    await using app = await judged()
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    expect(app.judging.pending()).toBe(1)
    await app.judging.settled()
    const { store } = app.bench
    expect(store.turn(turn.id)?.reward).toEqual({ kind: 'decided', value: -1, by: 'votes' })
    expect(store.votes(turn.id)).toMatchObject([vote])
    expect(store.hintsOf(turn.id)).toMatchObject([{ state: 'proposed' }])
    expect(store.judgeTask(turn.id)?.state).toBe('done')
    expect(app.called).toEqual([`hints ${turn.id}`, `verdict ${turn.id}`, 'settled'])
    expect(app.judging.pending()).toBe(0)
  })

  it('sees the request, the reply and everything that was said and signalled after it', async () => {
    await using app = await judged()
    const turn = followed(app.bench, 'Thanks, but shorter.')
    const signal = { turnId: turn.id, text: '', messageId: null }
    app.bench.store.addSignal({ ...signal, kind: 'regenerate', value: null })
    app.bench.store.addSignal({ ...signal, kind: 'thumb', value: 1 })
    app.bench.store.addSignal({ ...signal, kind: 'thumb', value: -1, text: 'no' })
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(app.bench.states).toMatchObject([
      {
        request: 'Explain osmosis.',
        reply: 'Water moves.',
        messages: [{ role: 'user', text: 'Thanks, but shorter.' }],
        // The last thumb counts.
        signals: [{ kind: 'regenerate' }, { kind: 'thumb', value: -1, text: 'no' }],
      },
    ])
  })

  it('weighs a rule by the thumbs that agreed with it and contradicted it before', async () => {
    const weights: Readonly<Record<string, number>>[] = []
    await using app = await judged({
      judge: (_, options) => {
        weights.push(options.ruleWeights)
        return rejected
      },
    })
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    await app.judging.settled()
    const thumb = { turnId: turn.id, kind: 'thumb', text: '', messageId: null } as const
    app.bench.store.addSignal({ ...thumb, value: 1 })
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(weights).toEqual([{}, { correction: 0.8 }])
  })

  it('does not see a thumb that was taken back', async () => {
    await using app = await judged()
    const turn = followed(app.bench)
    const thumb = { turnId: turn.id, kind: 'thumb', text: '', messageId: null } as const
    app.bench.store.addSignal({ ...thumb, value: 1 })
    app.bench.store.addSignal({ ...thumb, value: 0 })
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(app.bench.states[0]?.signals).toEqual([])
  })

  it('keeps a hint of low quality as vetoed by the filter', async () => {
    const hints = [proposal('Be better.', { quality: 0.29 })]
    await using app = await judged({ judge: () => ({ ...rejected, hints }) })
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(app.bench.store.hintsOf(turn.id)).toMatchObject([
      { state: 'vetoed', decidedBy: 'filter' },
    ])
  })

  it('a second time adds neither the same votes nor the same hints', async () => {
    await using app = await judged()
    const turn = followed(app.bench)
    for (let time = 0; time < 2; time += 1) {
      app.judging.owe(turn.id)
      await app.judging.settled()
    }
    expect(app.bench.store.votes(turn.id)).toHaveLength(1)
    expect(app.bench.store.hintsOf(turn.id)).toHaveLength(1)
  })

  it('a second time does not propose what the user has put in their own words', async () => {
    await using app = await judged()
    const { store } = app.bench
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    await app.judging.settled()
    const [hint] = store.hintsOf(turn.id)
    store.updateHint(hint?.id ?? '', { state: 'edited', text: 'Use 9 words.', decidedBy: 'user' })
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(store.hintsOf(turn.id).map(({ text }) => text)).toEqual(['Use 9 words.'])
  })

  it('that fails is a failure with its words, never a reward', async () => {
    const judge = () => Promise.reject(new AppError('timeout', 'The judge took too long.'))
    await using app = await judged({ judge })
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    await app.judging.settled()
    expect(app.bench.store.turn(turn.id)?.reward).toEqual({ kind: 'waiting' })
    expect(app.bench.store.judgeTask(turn.id)).toMatchObject({
      state: 'failed',
      error: 'The judge took too long.',
    })
    expect(app.called).toEqual(['settled'])
  })

  it('goes on with the next turn after a failure', async () => {
    let calls = 0
    const judge = () => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('broken')) : rejected
    }
    await using app = await judged({ judge })
    const turns = [followed(app.bench), followed(app.bench)]
    for (const turn of turns) app.judging.owe(turn.id)
    await app.judging.settled()
    const states = turns.map((turn) => app.bench.store.judgeTask(turn.id)?.state)
    expect(states).toEqual(['failed', 'done'])
  })

  it.each([
    ['does not learn', { learn: false }],
    ['is a side turn of', null],
  ])('asks nobody about a chat that %s', async (_name, change) => {
    await using app = await judged()
    const turn = followed(app.bench)
    if (change !== null) app.bench.store.updateChat(turn.chatId, change)
    const asked = change === null ? sideTurn(app.bench, turn) : turn
    app.judging.owe(asked.id)
    await app.judging.settled()
    expect(app.bench.states).toEqual([])
    expect(app.bench.store.judgeTask(asked.id)?.state).toBe('done')
    expect(app.bench.store.turn(asked.id)?.reward).toEqual({ kind: 'waiting' })
  })

  it('goes on after a restart with everything that was owed', async () => {
    await using app = await judged()
    const turns = [followed(app.bench), followed(app.bench)]
    app.judging.resume()
    await app.judging.settled()
    const rewards = turns.map((turn) => app.bench.store.turn(turn.id)?.reward.kind)
    expect(rewards).toEqual(['decided', 'decided'])
    expect(app.bench.store.owedJudgeTasks()).toEqual([])
  })

  it('keeps owing a turn that was signalled again while it was judged', async () => {
    const gate = Promise.withResolvers<void>()
    const states: (string | undefined)[] = []
    await using app = await judged({
      judge: async () => {
        if (app.bench.states.length === 1) await gate.promise
        else states.push(app.bench.store.judgeTask(turn.id)?.state)
        return rejected
      },
    })
    const turn = followed(app.bench)
    app.judging.owe(turn.id)
    await new Promise((resolve) => setImmediate(resolve))
    app.bench.store.setJudgeTask(turn.id, 'owed')
    app.judging.owe(turn.id)
    gate.resolve()
    await app.judging.settled()
    // A kill between the two judgements must find the second one still owed.
    expect(states).toEqual(['owed'])
    expect(app.bench.store.judgeTask(turn.id)?.state).toBe('done')
  })

  it('leaves what it has not begun owed when it is closed', async () => {
    const gate = Promise.withResolvers<void>()
    await using app = await judged({
      judge: async () => {
        await gate.promise
        return rejected
      },
    })
    const turns = [followed(app.bench), followed(app.bench)]
    for (const turn of turns) app.judging.owe(turn.id)
    const closed = app.judging[Symbol.asyncDispose]()
    gate.resolve()
    await closed
    expect(app.bench.store.judgeTask(turns[1]?.id ?? '')?.state).toBe('owed')
  })
})

function sideTurn(bench: LearningBench, turn: Turn): Turn {
  const { id, createdAt, ...rest } = turn
  expect([typeof id, typeof createdAt]).toEqual(['string', 'number'])
  return bench.store.addTurn({ ...rest, kind: 'side' })
}
