// The real trainer as the host runs it: in a thread and in a process of its own, behind the same contract.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTinyModel } from '../../../test/support/numerics.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { tinyTrainRequest } from '../../../test/support/training-request.ts'
import type { TrainEvent } from '../../shared/contract/trainer.ts'
import { leaseWords } from '../../shared/contract/trainer.ts'
import type { AppError } from '../../shared/errors.ts'
import type { TrainerClient } from '../learning/index.ts'
import { forkChild } from './child.ts'
import { startTrainer, type Isolation } from './start.ts'

interface Running extends AsyncDisposable {
  readonly client: TrainerClient
  readonly words: Int32Array<SharedArrayBuffer>
  /** As the governor does: sets a word of the lease and tells. */
  set(word: 'stop' | 'cancel', value: 0 | 1): void
  readonly failures: AppError[]
}

function startOn(isolation: Isolation, folder: string): Running {
  const lease = new SharedArrayBuffer(4 * leaseWords.length)
  const words = new Int32Array(lease)
  words[leaseWords.threads] = 1
  const failures: AppError[] = []
  const markerPath = join(folder, `${isolation}.running`)
  const kernelCacheDir = join(folder, 'kernels')
  const trainer = startTrainer(
    () => ({ lease, isolation, markerPath, kernelCacheDir, spawn: forkChild }),
    (failure) => failures.push(failure),
  )
  return {
    client: trainer.client(),
    words,
    failures,
    set(word, value) {
      Atomics.store(words, leaseWords[word], value)
      Atomics.notify(words, leaseWords.stop)
      trainer.leaseChanged()
    },
    async [Symbol.asyncDispose]() {
      await trainer[Symbol.asyncDispose]()
      expect(failures).toEqual([])
      expect(existsSync(markerPath)).toBe(false)
    },
  }
}

describe.each(['thread', 'process'] as const)('the trainer as a %s', (isolation) => {
  let folder: TemporaryFolder
  let modelPath: string
  const startWorker = (): Running => startOn(isolation, folder.path)
  beforeAll(async () => {
    folder = await temporaryFolder()
    modelPath = join(folder.path, 'tiny.gguf')
    await writeTinyModel(modelPath)
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  it('loads, trains, measures and unloads over its port, then leaves by itself', async () => {
    await using running = startWorker()
    const { client } = running
    expect(await client.load({ modelPath })).toMatchObject({ architecture: 'llama', layers: 2 })
    const request = tinyTrainRequest(folder.path)
    const events: TrainEvent[] = []
    for await (const event of await client.train(request)) events.push(event)
    expect(events.map((event) => event.kind)).toContain('overlap')
    expect(events.at(-1)).toMatchObject({ kind: 'done', report: { kind: 'trained' } })
    const { adapterPath, anchors: exchanges } = request
    expect((await client.drift({ adapterPath, exchanges })).kl).toHaveLength(2)
    const probe = await client.probe({ oldPath: null, newPath: adapterPath, exchanges })
    expect(probe.tokenIds.length).toBeGreaterThanOrEqual(20)
    expect(await client.unload()).toEqual({ unloaded: true })
  })

  it('hands errors over with their code and fact', async () => {
    await using running = startWorker()
    const events = async () => {
      for await (const event of await running.client.train(tinyTrainRequest(folder.path)))
        void event
    }
    await expect(events()).rejects.toMatchObject({ code: 'unavailable' })
    const load = running.client.load({ modelPath: join(folder.path, 'absent.gguf') })
    await expect(load).rejects.toMatchObject({ code: 'not-found' })
  })

  it('does nothing while the governor has stopped it, and goes on afterwards', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    running.set('stop', 1)
    const kinds: string[] = []
    const training = (async () => {
      const request = tinyTrainRequest(folder.path, { name: 'stopped' })
      for await (const event of await running.client.train(request)) kinds.push(event.kind)
    })()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(kinds).toEqual([])
    running.set('stop', 0)
    await training
    expect(kinds.at(-1)).toBe('done')
  })

  it('ends a run with `cancelled` by the lease, and trains again when it is lifted', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    running.set('cancel', 1)
    const train = async () => {
      const kinds: string[] = []
      const request = tinyTrainRequest(folder.path, { name: 'cancelled' })
      for await (const event of await running.client.train(request)) kinds.push(event.kind)
      return kinds
    }
    await expect(train()).rejects.toMatchObject({ code: 'cancelled' })
    running.set('cancel', 0)
    expect((await train()).at(-1)).toBe('done')
  })

  it('gives up when the caller aborts, even while it is stopped', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    running.set('stop', 1)
    const controller = new AbortController()
    const request = tinyTrainRequest(folder.path, { name: 'aborted' })
    const stream = await running.client.train(request, { signal: controller.signal })
    const next = stream.next()
    controller.abort()
    await expect(next).rejects.toThrow()
    running.set('stop', 0)
    expect(await running.client.unload()).toEqual({ unloaded: true })
  })

  it('leaves in the middle of a run when the port closes', async () => {
    const running = startWorker()
    await running.client.load({ modelPath })
    const request = tinyTrainRequest(folder.path, { name: 'closed', config: { passes: 10_000 } })
    const stream = await running.client.train(request)
    await stream.next()
    const rest = (async () => {
      for await (const event of stream) void event
    })()
    rest.catch(() => undefined)
    await running[Symbol.asyncDispose]()
    await expect(rest).rejects.toThrow()
  })

  it('says in the folder that it runs, and in a process of its own only there', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    const request = tinyTrainRequest(folder.path, { name: 'marked', config: { passes: 10_000 } })
    const stream = await running.client.train(request)
    await stream.next()
    const marker = join(folder.path, `${isolation}.running`)
    expect(existsSync(marker)).toBe(isolation === 'thread')
    await stream.return()
    // The next call has its turn after the run has ended.
    await running.client.unload()
    expect(existsSync(marker)).toBe(false)
  })
})
