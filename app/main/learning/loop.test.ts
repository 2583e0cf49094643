import { describe, expect, it } from 'vitest'
import {
  fourWords,
  learningBench,
  proposal,
  runReport,
  trainedOnAll,
  type BenchOptions,
  type Train,
} from '../../../test/support/learning-bench.ts'
import { demonstrationSample, turnSample } from '../../../test/support/samples.ts'
import type { Verdict } from '../../shared/contract/prm.ts'
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import type { Sample } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import { createLearningLoop } from './loop.ts'

interface LoopOptions extends BenchOptions {
  readonly unavailable?: () => string | null
}

const atWork: readonly string[] = ['practising', 'training', 'checking', 'swapping']

async function looping(options: LoopOptions = {}) {
  const { unavailable = () => null, ...rest } = options
  const bench = await learningBench(rest)
  bench.store.updateSettings({ practice: false, judge: { mode: 'off', votes: 3 } })
  const loop = createLearningLoop(bench.deps, { unavailable })
  const { chatId } = bench.exchange({ request: 'Explain osmosis.', reply: 'Water moves.' })
  let added = 0
  return {
    bench,
    loop,
    chatId,
    add(change: Partial<Sample> = {}): string {
      added += 1
      const id = `s${added}`
      const kind = change.kind ?? 'turn'
      const make = kind === 'turn' ? turnSample : demonstrationSample
      bench.store.addSample(make({ id, chatId, ...change }))
      return id
    },
    /** Until the piece of work that goes on has ended. */
    async idle(): Promise<void> {
      while (atWork.includes(loop.status().phase)) {
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    runs: () => bench.store.runs(10).map(({ outcome }) => outcome),
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]()
      await bench[Symbol.asyncDispose]()
    },
  }
}

/** Goes on only when the test says so, and ends when it is told to stop. */
function held(): { readonly train: Train; readonly go: () => void } {
  const gate = Promise.withResolvers<void>()
  async function* train(request: TrainRequest, signal: AbortSignal | undefined) {
    const phase: TrainEvent = { kind: 'phase', phase: 'loading' }
    yield phase
    const stopped = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new AppError('cancelled', 'stopped')))
    })
    await Promise.race([gate.promise, stopped])
    yield* trainedOnAll(request)
  }
  return { go: gate.resolve, train }
}

describe('a run is due', () => {
  it('at four samples, after a minute of quiet, not earlier', async () => {
    await using app = await looping()
    for (let index = 0; index < 3; index += 1) app.add()
    app.bench.quietMs = 60_000
    app.loop.tick()
    expect(app.runs()).toEqual([])
    app.add()
    app.bench.quietMs = 59_999
    app.loop.tick()
    expect(app.runs()).toEqual([])
    app.bench.quietMs = 60_000
    app.loop.tick()
    expect(app.loop.status().phase).toBe('training')
    await app.idle()
    expect(app.runs()).toEqual(['live'])
  })

  it('at one demonstration of the user, with everything at hand', async () => {
    await using app = await looping()
    app.add()
    app.add({ kind: 'demonstration', origin: 'edited-reply', reward: null })
    app.bench.quietMs = 60_000
    app.loop.tick()
    await app.idle()
    expect(app.bench.requests[0]?.samples).toHaveLength(2)
  })

  it('not at one practised reply', async () => {
    await using app = await looping()
    app.add({ kind: 'demonstration', origin: 'practice', reward: null })
    app.bench.quietMs = 60_000
    app.loop.tick()
    expect(app.runs()).toEqual([])
  })

  it('never while paused', async () => {
    await using app = await looping()
    app.bench.store.updateSettings({ schedule: 'paused' })
    for (let index = 0; index < 9; index += 1) app.add()
    app.bench.quietMs = 9_000_000
    app.loop.tick()
    expect(app.runs()).toEqual([])
    expect(app.loop.status().sentence).toBe('Paused. 9 signals ready.')
  })

  it('only after the idle time where the user wants that', async () => {
    await using app = await looping()
    app.bench.store.updateSettings({ schedule: 'when-idle', idleMinutes: 10 })
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.quietMs = 599_999
    app.loop.tick()
    expect(app.runs()).toEqual([])
    app.bench.quietMs = 600_000
    app.loop.tick()
    await app.idle()
    expect(app.runs()).toEqual(['live'])
  })

  it('not while a judgement is owed', async () => {
    const gate = Promise.withResolvers<void>()
    const undecided: Verdict = { reward: { kind: 'undecided' }, votes: [], hints: [] }
    await using app = await looping({ judge: () => gate.promise.then(() => undecided) })
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.quietMs = 60_000
    app.loop.judging.owe(app.bench.store.turns(app.chatId)[0]?.id ?? '')
    app.loop.tick()
    expect(app.runs()).toEqual([])
    gate.resolve()
    await app.loop.judging.settled()
    app.loop.tick()
    await app.idle()
    expect(app.runs()).toEqual(['live'])
  })

  it('once: a second tick during a run starts nothing', async () => {
    const { train, go } = held()
    await using app = await looping({ train })
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.quietMs = 60_000
    app.loop.tick()
    app.loop.tick()
    expect(app.runs()).toEqual(['running'])
    go()
    await app.idle()
    app.loop.tick()
    expect(app.runs()).toEqual(['live'])
  })

  it('no more for samples of a chat that was put into the trash', async () => {
    await using app = await looping()
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.store.updateChat(app.chatId, { deletedAt: 5 })
    app.bench.quietMs = 60_000
    app.loop.tick()
    expect(app.runs()).toEqual([])
    expect(app.loop.status()).toMatchObject({ ready: 0 })
    app.bench.store.updateChat(app.chatId, { deletedAt: null })
    expect(app.loop.status()).toMatchObject({ ready: 4, phase: 'due' })
  })
})

describe('training by hand', () => {
  it('needs one sample', async () => {
    await using app = await looping()
    expect(() => app.loop.trainNow()).toThrow('Nothing to learn from yet')
    app.add()
    app.loop.trainNow()
    await app.idle()
    expect(app.runs()).toEqual(['live'])
  })

  it('works while paused', async () => {
    await using app = await looping()
    app.bench.store.updateSettings({ schedule: 'paused' })
    app.add()
    app.loop.trainNow()
    await app.idle()
    expect(app.loop.status()).toMatchObject({ phase: 'paused', activeVersion: 1 })
  })

  it('is refused while a run goes on', async () => {
    const { train, go } = held()
    await using app = await looping({ train })
    app.add()
    app.loop.trainNow()
    expect(() => app.loop.trainNow()).toThrow('A run is in progress.')
    await expect(app.loop.activate(0)).rejects.toMatchObject({ code: 'busy' })
    go()
    await app.idle()
  })

  it('is refused with the reason where training is impossible', async () => {
    await using app = await looping({ unavailable: () => 'No ggml library in /nowhere.' })
    app.add({ kind: 'demonstration' })
    expect(() => app.loop.trainNow()).toThrow('No ggml library in /nowhere.')
    app.bench.quietMs = 60_000
    app.loop.tick()
    expect(app.runs()).toEqual([])
    expect(app.loop.status()).toMatchObject({
      phase: 'unavailable',
      sentence: 'No ggml library in /nowhere.',
    })
  })
})

describe('a run that does not end well', () => {
  it('refused at every step is tried twice, not for ever', async () => {
    const reason = 'step 1: the loss is NaN'
    const train: Train = async function* () {
      const report = runReport({ kind: 'refused', reason, steps: [] })
      yield await Promise.resolve({ kind: 'done' as const, report })
    }
    await using app = await looping({ train })
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.quietMs = 60_000
    for (let time = 0; time < 5; time += 1) {
      app.loop.tick()
      await app.idle()
    }
    expect(app.runs()).toEqual(['refused', 'refused'])
    expect(app.loop.status().sentence).toContain(`Last run: ${reason}`)
  })

  it('rejected by the gate twice lets its samples go and keeps the old version', async () => {
    await using app = await looping({ drift: () => [9] })
    for (let index = 0; index < 4; index += 1) app.add()
    app.bench.quietMs = 60_000
    for (let time = 0; time < 5; time += 1) {
      app.loop.tick()
      await app.idle()
    }
    expect(app.runs()).toEqual(['rejected', 'rejected'])
    expect(app.loop.status()).toMatchObject({ ready: 0, activeVersion: 0 })
  })

  it('is interrupted when the program ends, and its samples wait for the next start', async () => {
    const { train } = held()
    await using app = await looping({ train })
    app.add()
    app.loop.trainNow()
    await new Promise((resolve) => setImmediate(resolve))
    await app.loop[Symbol.asyncDispose]()
    expect(app.runs()).toEqual(['interrupted'])
    expect(app.bench.lease).toEqual(['clear', 'cancel'])
    expect(app.bench.store.sample('s1')?.state).toBe('ready')
  })
})

describe('after a crash', () => {
  it('closes the run, rejects its candidate, and trains the samples again', async () => {
    await using app = await looping()
    const id = app.add()
    const { store } = app.bench
    store.startRun([id])
    const file = { path: 'v1.gguf', sha256: 'x', modelId: 'test', report: runReport() }
    store.addVersion({ version: store.nextVersion(), parent: 0, sampleIds: [id], ...file })
    await app.loop.resume()
    expect(app.runs()).toEqual(['interrupted'])
    expect(store.version(1)?.state).toBe('rejected')
    app.loop.trainNow()
    await app.idle()
    expect(store.activeVersion()).toBe(2)
  })

  it('serves the version that was live, and judges what was owed', async () => {
    await using app = await looping()
    app.add()
    app.loop.trainNow()
    await app.idle()
    const turn = app.bench.exchange({ request: 'Explain tides.', reply: 'The moon.' })
    app.bench.store.setJudgeTask(turn.id, 'owed')
    const restarted = createLearningLoop(app.bench.deps, { unavailable: () => null })
    app.bench.policy.calls.length = 0
    await restarted.resume()
    expect(app.bench.policy.calls).toEqual(['prepare 1', 'activate 1'])
    await restarted.judging.settled()
    expect(app.bench.store.judgeTask(turn.id)?.state).toBe('done')
    await restarted[Symbol.asyncDispose]()
  })

  it('goes on with the base when the live version cannot be loaded, and says why', async () => {
    let isBroken = false
    await using app = await looping({
      prepare: () => {
        if (isBroken) throw new AppError('corrupt', 'v1.gguf is not a LoRA file')
      },
    })
    app.add()
    app.loop.trainNow()
    await app.idle()
    expect(app.bench.store.activeVersion()).toBe(1)
    isBroken = true
    await app.loop.resume()
    expect(app.loop.status().activeVersion).toBe(0)
    expect(app.bench.store.version(1)).toMatchObject({
      state: 'retired',
      tainted: 'It could not be loaded: v1.gguf is not a LoRA file',
    })
  })
})

describe('going back', () => {
  it('serves an earlier version, or the base, and says so', async () => {
    await using app = await looping()
    for (let time = 0; time < 2; time += 1) {
      app.add()
      app.loop.trainNow()
      await app.idle()
    }
    expect(app.loop.status().activeVersion).toBe(2)
    for (const version of [1, 0, 2]) {
      await app.loop.activate(version)
      expect(app.bench.store.activeVersion()).toBe(version)
      expect(app.bench.policy.policy.active().version).toBe(version)
    }
    expect(app.bench.events.at(-1)).toMatchObject({
      kind: 'learning',
      status: { activeVersion: 2 },
    })
  })

  it('does not serve a version that did not pass its checks', async () => {
    await using app = await looping({ drift: () => [9] })
    app.add()
    app.loop.trainNow()
    await app.idle()
    await expect(app.loop.activate(1)).rejects.toMatchObject({ code: 'refused' })
    expect(app.bench.policy.policy.active().version).toBe(0)
  })

  it('says so when there is no such version', async () => {
    await using app = await looping()
    await expect(app.loop.activate(7)).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('from a correction to a version', () => {
  const rejected: Verdict = {
    reward: { kind: 'decided', value: -1, by: 'votes' },
    votes: [],
    hints: [proposal(fourWords)],
  }
  const accepted: Verdict = {
    reward: { kind: 'decided', value: 1, by: 'votes' },
    votes: [],
    hints: [],
  }

  it('an accepted second try teaches the first request and makes a run due', async () => {
    await using app = await looping({
      judge: ({ reply }) => (reply === 'Water moves.' ? rejected : accepted),
    })
    const { bench, loop } = app
    const first = bench.store.turns(app.chatId)[0]
    if (first === undefined) throw new Error('the chat has no turn')
    loop.judging.owe(first.id)
    await loop.judging.settled()
    expect(loop.status()).toMatchObject({ ready: 0, phase: 'idle' })
    expect(loop.status().sentence).toBe('Waiting for your decision on 1 hint.')
    loop.hints.approve(bench.store.hintsOf(first.id)[0]?.id ?? '', 'user')
    expect(loop.status()).toMatchObject({ ready: 1, phase: 'idle' })
    const second = bench.exchange({ request: 'Too long.', reply: 'Water.', after: first })
    loop.judging.owe(second.id)
    await loop.judging.settled()
    expect(loop.status()).toMatchObject({ ready: 3, phase: 'due' })
    const origins = bench.store.samples(['ready']).map(({ sample }) => sample.origin)
    expect(origins.toSorted()).toEqual(['accepted-revision', 'reply', 'reply'])
  })

  it('the last word on judging is that nothing is being read any more', async () => {
    await using app = await looping({ judge: () => accepted })
    app.loop.judging.owe(app.bench.store.turns(app.chatId)[0]?.id ?? '')
    await app.loop.judging.settled()
    const said = app.bench.events.flatMap((event) =>
      event.kind === 'learning' ? [event.status.phase] : [],
    )
    expect(said.at(-1)).toBe('idle')
  })

  it('removing a note through the loop takes its hint out of what is ready', async () => {
    await using app = await looping({ judge: () => rejected })
    const { bench, loop } = app
    const first = bench.store.turns(app.chatId)[0]
    loop.judging.owe(first?.id ?? '')
    await loop.judging.settled()
    loop.hints.approve(bench.store.hints()[0]?.id ?? '', 'user')
    loop.notes.removeNote(bench.store.notes()[0]?.id ?? '')
    const ready = bench.store.samples(['ready']).map(({ sample }) => sample)
    expect(ready).toMatchObject([{ reward: -1, hints: [] }])
  })
})

describe('practice', () => {
  async function practising(answer?: BenchOptions['answer']) {
    const app = await looping(answer === undefined ? {} : { answer })
    app.bench.store.updateSettings({ practice: true })
    app.bench.store.addNote({
      text: fourWords,
      scope: { kind: 'everywhere' },
      count: 1,
      check: { kind: 'max-words', words: 4 },
      state: 'prompt',
      learnedIn: null,
    })
    return app
  }

  it('begins after five minutes of quiet, once', async () => {
    await using app = await practising()
    app.bench.quietMs = 299_999
    app.loop.tick()
    expect(app.loop.status().phase).toBe('idle')
    app.bench.quietMs = 300_000
    app.loop.tick()
    expect(app.loop.status().phase).toBe('practising')
    await app.idle()
    const asked = app.bench.policy.asked.length
    expect(asked).toBeGreaterThan(0)
    app.loop.tick()
    await app.idle()
    expect(app.bench.policy.asked).toHaveLength(asked)
  })

  it('by hand is refused without a note that a rule can check', async () => {
    await using app = await looping()
    expect(() => app.loop.practiceNow()).toThrow('no approved note that a rule can check')
  })

  it('that fails says so in the status', async () => {
    await using app = await practising(() => ({
      pieces: [],
      fail: new AppError('out-of-memory', 'There is not enough memory.'),
    }))
    app.loop.practiceNow()
    await app.idle()
    expect(app.loop.status().sentence).toContain('Last run: There is not enough memory.')
  })
})
