import { rm } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import {
  agreeing,
  fourWords,
  learningBench,
  runReport,
  step,
  trainedOnAll,
  type BenchOptions,
  type LearningBench,
  type Train,
} from '../../../test/support/learning-bench.ts'
import { demonstrationSample, turnSample } from '../../../test/support/samples.ts'
import type { Sample } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import { adapterPaths, carryOutRun, type RunProgress } from './run.ts'

async function waiting(options: BenchOptions = {}, samples: readonly Partial<Sample>[] = [{}]) {
  const bench = await learningBench(options)
  const { chatId } = bench.exchange({ request: 'Explain osmosis.', reply: 'Water moves.' })
  samples.forEach((change, index) => {
    bench.store.addSample(demonstrationSample({ id: `s${index}`, chatId, ...change }))
  })
  return { bench, chatId, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() }
}

function run(bench: LearningBench, progress: RunProgress[] = []) {
  const { signal } = new AbortController()
  return carryOutRun(bench.deps, { signal, onProgress: (each) => progress.push(each) })
}

function state(bench: LearningBench, id = 's0') {
  const stored = bench.store.sample(id)
  return [stored?.state, stored?.uses]
}

const refused: Train = async function* () {
  const reason = 'step 1: the loss is NaN'
  yield await Promise.resolve({
    kind: 'done' as const,
    report: runReport({ kind: 'refused', reason, steps: [] }),
  })
}

describe('a run that passes', () => {
  it('makes a live version from what was waiting and tells every stage', async () => {
    await using app = await waiting()
    const progress: RunProgress[] = []
    const end = await run(app.bench, progress)
    expect(end).toMatchObject({ outcome: 'live', version: 1 })
    expect(end.sentence).toMatch(/^v1 is live\. /u)
    expect([...new Set(progress.map(({ phase }) => phase))]).toEqual([
      'training',
      'checking',
      'swapping',
    ])
    const { store, policy } = app.bench
    expect(store.activeVersion()).toBe(1)
    expect(store.version(1)).toMatchObject({ parent: 0, sampleIds: ['s0'], state: 'active' })
    expect(store.version(1)?.gate?.checks.map(({ name }) => name)).toEqual([
      'numbers',
      'drift',
      'length',
      'repetition',
      'preference',
      'probe',
    ])
    expect(policy.policy.active()).toEqual({
      version: 1,
      path: adapterPaths(app.bench.deps.adapterDir, 1).adapter,
    })
    expect(state(app.bench)).toEqual(['used', 1])
    expect(store.runs(1)).toMatchObject([{ outcome: 'live', version: 1, sentence: end.sentence }])
    expect(store.steps(5)).toHaveLength(1)
  })

  it('goes on from the active version, with its optimiser state', async () => {
    await using app = await waiting()
    await run(app.bench)
    app.bench.store.addSample(demonstrationSample({ id: 'next', chatId: app.chatId, version: 1 }))
    await run(app.bench)
    const { adapterDir } = app.bench.deps
    const parent = adapterPaths(adapterDir, 1)
    expect(app.bench.requests[0]).toMatchObject({ parentPath: null, parentStatePath: null })
    expect(app.bench.requests[1]).toMatchObject({
      parentPath: parent.adapter,
      parentStatePath: parent.state,
      versionPaths: { '1': parent.adapter },
      medianGradientNorm: 1,
    })
    expect(app.bench.store.version(2)?.parent).toBe(1)
  })

  it('trains again after a rollback from the version that is active', async () => {
    await using app = await waiting()
    await run(app.bench)
    app.bench.store.activate(0)
    app.bench.store.addSample(demonstrationSample({ id: 'next', chatId: app.chatId }))
    await run(app.bench)
    expect(app.bench.requests[1]?.parentPath).toBeNull()
    expect(app.bench.store.version(2)?.parent).toBe(0)
  })

  it('runs on equal rewards: there is no group to compare with', async () => {
    const negative = { kind: 'turn', origin: 'reply', reward: -1 } as const
    await using app = await waiting({}, [negative, negative])
    expect(await run(app.bench)).toMatchObject({ outcome: 'live' })
    expect(app.bench.requests[0]?.samples.map(({ reward }) => reward)).toEqual([-1, -1])
  })

  it('leaves what was set aside ready and retires what was excluded, with the reason', async () => {
    const train: Train = async function* (request) {
      for await (const event of trainedOnAll(request)) {
        if (event.kind !== 'done') yield event
      }
      const excluded = [
        { sampleId: 's1', reason: 'set aside', isSetAside: true },
        { sampleId: 's2', reason: 'the reply repeats itself' },
      ]
      yield { kind: 'done', report: runReport({ usedSampleIds: ['s0'], excluded }) }
    }
    await using app = await waiting({ train }, [{}, {}, {}])
    await run(app.bench)
    expect(['s0', 's1', 's2'].map((id) => state(app.bench, id)[0])).toEqual([
      'used',
      'ready',
      'retired',
    ])
    expect(app.bench.store.sample('s2')?.reason).toBe('the reply repeats itself')
  })

  it('marks a note as learned when the bare version satisfies it', async () => {
    const kinds = Array.from({ length: 8 }, (_, index) => `Explain thing ${index}.`)
    const answer = () => ({ pieces: ['Plain neutral words.'] })
    await using app = await waiting({ resources: { kinds }, answer })
    const note = app.bench.store.addNote({
      text: fourWords,
      scope: { kind: 'everywhere' },
      count: 1,
      check: { kind: 'max-words', words: 4 },
      state: 'prompt',
      learnedIn: null,
    })
    await run(app.bench)
    expect(app.bench.store.note(note.id)).toMatchObject({ state: 'learned', learnedIn: 1 })
  })

  it('leaves a sample vetoed that the user vetoed meanwhile', async () => {
    const train: Train = async function* (request) {
      app.bench.store.setSampleState('s0', 'vetoed', 'its hint was vetoed')
      yield* trainedOnAll(request)
    }
    const app = await waiting({ train })
    await using _ = app
    await run(app.bench)
    expect(state(app.bench)[0]).toBe('vetoed')
  })
})

describe('a run takes nothing', () => {
  it.each([
    ['in the trash', { deletedAt: 5 }],
    ['that does not learn', { learn: false }],
  ])('from a chat %s, though its samples were ready', async (_name, change) => {
    await using app = await waiting({}, [{}])
    const other = app.bench.store.createChat()
    app.bench.store.addSample(demonstrationSample({ id: 'other', chatId: other.id }))
    app.bench.store.updateChat(app.chatId, change)
    await run(app.bench)
    expect(app.bench.requests[0]?.samples.map(({ id }) => id)).toEqual(['other'])
    expect(state(app.bench)).toEqual(['ready', 0])
  })
})

describe('a run that does not pass', () => {
  it('keeps the candidate as rejected with the reason and the old version active', async () => {
    await using app = await waiting({ drift: () => [0.5, 0.6] })
    const end = await run(app.bench)
    expect(end).toMatchObject({ outcome: 'rejected', version: 1 })
    expect(end.sentence).toContain('moved too far from the base (KL 0.55')
    expect(app.bench.store.version(1)?.state).toBe('rejected')
    expect(app.bench.store.activeVersion()).toBe(0)
    expect(app.bench.policy.calls).toEqual(['prepare 1', 'release 1'])
  })

  it('gives the samples back once and then retires them', async () => {
    await using app = await waiting({ drift: () => [0.5] })
    await run(app.bench)
    expect(state(app.bench)).toEqual(['returned', 0])
    await run(app.bench)
    expect(state(app.bench)).toEqual(['retired', 0])
    expect(app.bench.store.sample('s0')?.reason).toContain('too far from the base')
  })

  it('undoes a swap that serves other weights than the trained ones', async () => {
    const scores = () => agreeing({ version: 0 })
    await using app = await waiting({ scores })
    const end = await run(app.bench)
    expect(end).toMatchObject({ outcome: 'rejected' })
    expect(end.sentence).toContain('does not behave like the trained one')
    expect(app.bench.policy.policy.active().version).toBe(0)
    expect(app.bench.store.version(1)).toMatchObject({ state: 'rejected', gate: { passed: false } })
  })

  it('gives the samples of a refused step back once and then retires them', async () => {
    await using app = await waiting({ train: refused }, [{}, { kind: 'turn', reward: -1 }])
    const end = await run(app.bench)
    expect(end).toMatchObject({ outcome: 'refused', version: null })
    expect(end.sentence).toBe('step 1: the loss is NaN')
    expect(['s0', 's1'].map((id) => state(app.bench, id)[0])).toEqual(['returned', 'returned'])
    await run(app.bench)
    expect(['s0', 's1'].map((id) => state(app.bench, id)[0])).toEqual(['retired', 'retired'])
    expect(app.bench.store.versions()).toEqual([])
  })

  it('says so when there is no signal, and does not try the same again', async () => {
    const train: Train = async function* (request) {
      const reason = 'no signal that method grpo uses'
      const excluded = request.samples.map(({ id }) => ({ sampleId: id, reason }))
      const report = runReport({ kind: 'no-signal', reason: null, steps: [], excluded })
      yield await Promise.resolve({ kind: 'done' as const, report })
    }
    await using app = await waiting({ train })
    expect(await run(app.bench)).toMatchObject({
      outcome: 'no-signal',
      sentence: 'There was no signal to learn from.',
    })
    expect(state(app.bench)).toEqual(['retired', 0])
  })

  it('does not touch what it only replayed', async () => {
    const used = Array.from({ length: 4 }, (_, index) => ({ id: `old${index}` }))
    await using app = await waiting({ train: refused }, [...used, {}, {}, {}])
    for (const { id } of used) app.bench.store.setSampleState(id, 'used')
    await run(app.bench)
    expect(app.bench.requests[0]?.samples).toHaveLength(4)
    expect(used.map(({ id }) => state(app.bench, id)[0])).toEqual(used.map(() => 'used'))
  })
})

describe('a run that breaks', () => {
  const broken: Train = async function* () {
    yield { kind: 'step', step: step() }
    await Promise.resolve()
    throw new Error('the port was closed')
  }

  it('is stored as failed, with the words, and gives the samples back', async () => {
    await using app = await waiting({ train: broken })
    expect(await run(app.bench)).toMatchObject({
      outcome: 'failed',
      sentence: 'The run failed: the port was closed',
    })
    expect(state(app.bench)).toEqual(['returned', 0])
    expect(app.bench.store.runs(1)[0]?.endedAt).not.toBeNull()
  })

  it('keeps the samples as they are where training is impossible on this machine', async () => {
    const trainerAccess = () => {
      throw new AppError('unavailable', 'no ggml library in /nowhere')
    }
    await using app = await waiting({ trainerAccess })
    for (let time = 0; time < 3; time += 1) {
      const { sentence } = await run(app.bench)
      expect(sentence).toBe('The run failed: no ggml library in /nowhere')
    }
    expect(state(app.bench)).toEqual(['ready', 0])
  })

  it('rejects its candidate when the check itself breaks', async () => {
    const drift = () => {
      throw new Error('the drift could not be measured')
    }
    await using app = await waiting({ drift })
    expect(await run(app.bench)).toMatchObject({ outcome: 'failed' })
    expect(app.bench.store.version(1)?.state).toBe('rejected')
    expect(app.bench.store.activeVersion()).toBe(0)
  })

  it('fails in words when the trainer wrote no file', async () => {
    const train: Train = async function* (request) {
      for await (const event of trainedOnAll(request)) {
        if (event.kind === 'done') await rm(request.adapterPath)
        yield event
      }
    }
    await using app = await waiting({ train })
    const end = await run(app.bench)
    expect(end).toMatchObject({ outcome: 'failed', version: null })
    expect(app.bench.store.activeVersion()).toBe(0)
  })

  it('is interrupted, not failed, when the program ends, and keeps the samples', async () => {
    const controller = new AbortController()
    const train: Train = async function* (request) {
      controller.abort()
      yield* broken(request, undefined)
    }
    await using app = await waiting({ train })
    const end = await carryOutRun(app.bench.deps, {
      signal: controller.signal,
      onProgress: () => undefined,
    })
    expect(end).toMatchObject({ outcome: 'interrupted', sentence: 'The run was interrupted.' })
    expect(state(app.bench)).toEqual(['ready', 0])
  })
})

describe('a batch', () => {
  it('of one works', async () => {
    await using app = await waiting({}, [])
    app.bench.store.addSample(turnSample({ id: 's0', chatId: app.chatId }))
    expect(await run(app.bench)).toMatchObject({ outcome: 'live' })
  })
})
