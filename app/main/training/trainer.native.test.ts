import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTinyModel } from '../../../test/support/numerics.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { tinyTrainRequest } from '../../../test/support/training-request.ts'
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import { AppError } from '../../shared/errors.ts'
import type { YieldPoint } from '../engine/index.ts'
import { openEngine } from '../engine/index.ts'
import { createTrainer } from './index.ts'

const oneThread: YieldPoint = () => Promise.resolve({ threads: 1 })

describe('trainer on the tiny random model', () => {
  let folder: TemporaryFolder
  let modelPath: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    modelPath = join(folder.path, 'tiny.gguf')
    await writeTinyModel(modelPath)
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  async function loaded(yieldPoint = oneThread) {
    const trainer = createTrainer({ engineOptions: { threads: 1 }, yieldPoint })
    await trainer.load({ modelPath })
    return trainer
  }

  async function train(request: TrainRequest, yieldPoint = oneThread) {
    await using trainer = await loaded(yieldPoint)
    const events: TrainEvent[] = []
    for await (const event of trainer.train(request)) events.push(event)
    const last = events.at(-1)
    if (last?.kind !== 'done') throw new Error('the run ended without a report')
    return { report: last.report, events }
  }

  it('says which model it holds', async () => {
    await using trainer = createTrainer({ engineOptions: { threads: 1 }, yieldPoint: oneThread })
    const facts = await trainer.load({ modelPath })
    expect(facts).toMatchObject({ architecture: 'llama', layers: 2, width: 64 })
    expect(facts.backend).toMatchObject({ kernels: null, reason: 'f32 was asked for' })
    expect(await trainer.backend()).toEqual(facts.backend)
    // The same without a model.
    await trainer.unload()
    expect(await trainer.backend()).toEqual(facts.backend)
  })

  it('trains all terms, emits in order and writes two files', async () => {
    const request = tinyTrainRequest(folder.path, { name: 'all', config: { passes: 4 } })
    const { report, events } = await train(request)
    expect(report).toMatchObject({ kind: 'trained', usedSampleIds: ['demonstration', 'turn'] })
    expect(events.map((event) => (event.kind === 'phase' ? event.phase : event.kind))).toEqual([
      ...['loading', 'guard', 'teacher', 'overlap', 'updating'],
      ...['step', 'step', 'step', 'step', 'writing', 'done'],
    ])
    const demo = report.steps.map((step) => step.lossDemo ?? NaN)
    expect(demo.at(-1)).toBeLessThan(demo[0] ?? NaN)
    // Before the first update the ratio is 1 and the anchor 0.
    expect(report.steps[0]?.lossRl).toBeCloseTo(-1, 4)
    expect(report.steps[0]?.lossAnchor).toBeCloseTo(0, 5)
    expect((await readdir(folder.path)).filter((name) => name.startsWith('all')).sort()).toEqual([
      'all.gguf',
      'all.state',
    ])
  })

  it('writes the same bytes with one thread and with two, and on another day', async () => {
    let calls = 0
    const changing: YieldPoint = () => Promise.resolve({ threads: (calls++ % 2) + 1 })
    const bytesOf = async (name: string, yieldPoint: YieldPoint) => {
      const request = tinyTrainRequest(folder.path, { name })
      await train(request, yieldPoint)
      return Promise.all([request.adapterPath, request.statePath].map((path) => readFile(path)))
    }
    const first = await bytesOf('once', oneThread)
    expect(await bytesOf('again', oneThread)).toEqual(first)
    expect(await bytesOf('threads', changing)).toEqual(first)
  })

  it('ends at the same bytes when resumed from its files', async () => {
    const demos = tinyTrainRequest(folder.path).samples.slice(1)
    const run = (name: string, change: Partial<TrainRequest>, passes: number) => {
      const request = tinyTrainRequest(folder.path, {
        name,
        samples: demos,
        ...change,
        config: { passes },
      })
      return train(request).then(() => request)
    }
    const straight = await run('straight', {}, 4)
    const half = await run('half', {}, 2)
    const parent = { parentPath: half.adapterPath, parentStatePath: half.statePath }
    const resumed = await run('resumed', parent, 2)
    for (const key of ['adapterPath', 'statePath'] as const) {
      expect(await readFile(resumed[key])).toEqual(await readFile(straight[key]))
    }
  })

  it('keeps the value head of ppo-gae with the checkpoint, also through another method', async () => {
    const { samples } = tinyTrainRequest(folder.path)
    const run = async (name: string, change: Partial<TrainRequest>, method: 'ppo-gae' | 'grpo') => {
      const config = { method, passes: 2 }
      const request = tinyTrainRequest(folder.path, { name, samples, ...change, config })
      const { report } = await train(request)
      const state = await readFile(request.statePath)
      const parent = { parentPath: request.adapterPath, parentStatePath: request.statePath }
      return { report, state, parent: { ...parent, versionPaths: { '1': request.adapterPath } } }
    }
    const first = await run('ppo', {}, 'ppo-gae')
    expect(first.report.steps.every((step) => step.lossValue !== null)).toBe(true)
    expect((await run('ppo-again', {}, 'ppo-gae')).state).toEqual(first.state)
    const between = await run('between', first.parent, 'grpo')
    const valueBytes = first.state.length - (await run('plain', {}, 'grpo')).state.length
    expect(between.state.subarray(-valueBytes)).toEqual(first.state.subarray(-valueBytes))
    const next = await run('next', between.parent, 'ppo-gae')
    // The same reward, now expected in part.
    expect(next.report.steps[0]?.lossRl).toBeGreaterThan(first.report.steps[0]?.lossRl ?? NaN)
    expect(next.state.subarray(-valueBytes)).not.toEqual(first.state.subarray(-valueBytes))
  })

  it('measures drift and finds the position that changed most', async () => {
    const request = tinyTrainRequest(folder.path, {
      name: 'drift',
      config: { passes: 6, learningRate: 5e-3 },
    })
    await train(request)
    await using trainer = await loaded()
    const { adapterPath, anchors: exchanges } = request
    const { kl } = await trainer.drift({ adapterPath, exchanges })
    expect(kl).toHaveLength(2)
    expect(kl.every((value) => value > 0)).toBe(true)
    const probe = await trainer.probe({ oldPath: null, newPath: adapterPath, exchanges })
    expect(probe.kl).toBeGreaterThanOrEqual(Math.max(...kl))
    expect(new Set(probe.tokenIds).size).toBe(probe.tokenIds.length)

    // The engine asked directly at that prefix: the same numbers, and the whole divergence.
    await using engine = await openEngine({ threads: 1 })
    const model = await engine.loadModel(modelPath)
    const adapter = await model.readAdapter(adapterPath)
    const everyId = Int32Array.from({ length: model.info.vocabulary }, (_, id) => id)
    const tokens = Int32Array.from([...probe.prefixIds, 0])
    const responseStart = probe.prefixIds.length
    const ask = { tokens, responseStart, temperature: 1, gatherIds: everyId }
    const old = (await model.score({ ...ask, adapter: null })).gathered
    const now = (await model.score({ ...ask, adapter })).gathered
    const divergence = old.reduce(
      (sum, value, id) => sum + Math.exp(value) * (value - (now[id] ?? NaN)),
      0,
    )
    expect(divergence).toBeCloseTo(probe.kl, 4)
    probe.tokenIds.forEach((id, i) => expect(now[id]).toBeCloseTo(probe.newLogProbs[i] ?? NaN, 5))
    const same = await trainer.probe({ oldPath: adapterPath, newPath: adapterPath, exchanges })
    expect(same.kl).toBeCloseTo(0, 5)
    expect(same.oldLogProbs).toEqual(same.newLogProbs)
  })

  it('refuses to work without a model, on an empty exchange and on a missing adapter', async () => {
    await using empty = createTrainer({ engineOptions: { threads: 1 }, yieldPoint: oneThread })
    const exchanges = [{ promptIds: [1], responseIds: [] }]
    const drift = { adapterPath: join(folder.path, 'none.gguf'), exchanges }
    await expect(empty.drift(drift)).rejects.toMatchObject({ code: 'unavailable' })
    await using trainer = await loaded()
    const emptyProbe = trainer.probe({ oldPath: null, newPath: null, exchanges })
    await expect(emptyProbe).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(trainer.drift(drift)).rejects.toMatchObject({ code: 'not-found' })
    const absent = empty.load({ modelPath: join(folder.path, 'absent.gguf') })
    await expect(absent).rejects.toMatchObject({ code: 'not-found' })
  })

  it('stops when the reader leaves and can train again at once', async () => {
    await using trainer = await loaded()
    const request = tinyTrainRequest(folder.path, { name: 'left', config: { passes: 50 } })
    for await (const event of trainer.train(request)) {
      if (event.kind === 'step') break
    }
    expect((await readdir(folder.path)).filter((name) => name.includes('left'))).toEqual([])
    const kinds: string[] = []
    for await (const event of trainer.train(tinyTrainRequest(folder.path, { name: 'next' }))) {
      kinds.push(event.kind)
    }
    expect(kinds.at(-1)).toBe('done')
  })

  it('frees every native object, also after a cancelled run', async () => {
    await using engine = await openEngine({ threads: 1 })
    const atRest = engine.liveHandles()
    const model = await engine.loadModel(modelPath)
    const refuse = () => Promise.reject(new AppError('cancelled', 'stop'))
    const tokens = Int32Array.from([1, 2, 3])
    const request = { tokens, responseStart: 1, temperature: 1, adapter: null }
    await expect(model.score({ ...request, yieldPoint: refuse })).rejects.toMatchObject({
      code: 'cancelled',
    })
    await model[Symbol.asyncDispose]()
    expect(engine.liveHandles()).toBe(atRest)
  })
})
