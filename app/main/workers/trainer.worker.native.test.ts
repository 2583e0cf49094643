// The trainer in a real thread, behind oRPC on a message channel, as the host runs it.
import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import type { ContractRouterClient } from '@orpc/contract'
import { RPCLink } from '@orpc/client/message-port'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTinyModel } from '../../../test/support/numerics.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { tinyTrainRequest } from '../../../test/support/training-request.ts'
import type { TrainEvent, trainerContract } from '../../shared/contract/trainer.ts'
import { leaseWords } from '../../shared/contract/trainer.ts'

interface Running extends AsyncDisposable {
  readonly client: ContractRouterClient<typeof trainerContract>
  readonly words: Int32Array<SharedArrayBuffer>
  /** Closes the port and gives the exit code of the thread. */
  close(): Promise<number>
}

function startWorker(): Running {
  const lease = new SharedArrayBuffer(4 * leaseWords.length)
  const words = new Int32Array(lease)
  words[leaseWords.threads] = 1
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(new URL('./trainer.worker.ts', import.meta.url), {
    workerData: { port: port2, lease },
    transferList: [port2],
  })
  const exited = new Promise<number>((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', resolve)
  })
  exited.catch(() => undefined)
  port1.start()
  const close = () => {
    port1.close()
    return exited
  }
  return {
    client: createORPCClient(new RPCLink({ port: port1 })),
    words,
    close,
    async [Symbol.asyncDispose]() {
      await close()
    },
  }
}

function release({ words }: Running): void {
  Atomics.store(words, leaseWords.stop, 0)
  Atomics.notify(words, leaseWords.stop)
}

describe('trainer worker', () => {
  let folder: TemporaryFolder
  let modelPath: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    modelPath = join(folder.path, 'tiny.gguf')
    await writeTinyModel(modelPath)
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  it('loads, trains, measures and unloads over its port, then leaves by itself', async () => {
    const running = startWorker()
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
    expect(await running.close()).toBe(0)
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
    Atomics.store(running.words, leaseWords.stop, 1)
    const kinds: string[] = []
    const training = (async () => {
      const request = tinyTrainRequest(folder.path, { name: 'stopped' })
      for await (const event of await running.client.train(request)) kinds.push(event.kind)
    })()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(kinds).toEqual([])
    release(running)
    await training
    expect(kinds.at(-1)).toBe('done')
  })

  it('ends a run with `cancelled` by the lease, and trains again when it is lifted', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    Atomics.store(running.words, leaseWords.cancel, 1)
    const train = async () => {
      const kinds: string[] = []
      const request = tinyTrainRequest(folder.path, { name: 'cancelled' })
      for await (const event of await running.client.train(request)) kinds.push(event.kind)
      return kinds
    }
    await expect(train()).rejects.toMatchObject({ code: 'cancelled' })
    Atomics.store(running.words, leaseWords.cancel, 0)
    expect((await train()).at(-1)).toBe('done')
  })

  it('gives up when the caller aborts, even while it is stopped', async () => {
    await using running = startWorker()
    await running.client.load({ modelPath })
    Atomics.store(running.words, leaseWords.stop, 1)
    const controller = new AbortController()
    const request = tinyTrainRequest(folder.path, { name: 'aborted' })
    const stream = await running.client.train(request, { signal: controller.signal })
    const next = stream.next()
    controller.abort()
    await expect(next).rejects.toThrow()
    release(running)
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
    expect(await running.close()).toBe(0)
    await expect(rest).rejects.toThrow()
  })
})
