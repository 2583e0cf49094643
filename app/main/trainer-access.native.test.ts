// What a user is left with when native code crashes: in a thread the whole host is gone, and the next one trains in a
// process of its own; in a process the run fails with a reason, the host lives, and the next run works.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { writeTinyModel } from '../../test/support/numerics.ts'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { tinyTrainRequest } from '../../test/support/training-request.ts'
import { leaseWords, type TrainEvent } from '../shared/contract/trainer.ts'
import type { TrainerClient } from './learning/index.ts'
import { openLog } from './log.ts'
import { openStore, type Store } from './store/index.ts'
import { openTrainer, type TrainerAccess, type TrainerPlace } from './trainer-access.ts'
import { forkChild, type SpawnChild } from './workers/child.ts'

const hostScript = resolve(import.meta.dirname, '../../test/support/training-host.ts')
const noSignals = 'Windows has no signals: a process that is ended there ends like one that left'

interface FixtureHost {
  readonly child: ChildProcess
  readonly lines: AsyncIterableIterator<string>
}

function startHost(dataDir: string, task: 'look' | 'once' | 'for-ever'): FixtureHost {
  const child = spawn(process.execPath, [hostScript, dataDir, join(dataDir, 'tiny.gguf'), task], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

async function nextLine({ lines }: FixtureHost): Promise<unknown> {
  const { value, done } = await lines.next()
  if (done === true) throw new Error('the host said nothing more')
  return JSON.parse(value) as unknown
}

/** Where a host on this folder would train, from one that starts and ends in order. */
async function placeAtStart(dataDir: string): Promise<unknown> {
  const host = startHost(dataDir, 'look')
  const place = await nextLine(host)
  if (host.child.exitCode === null) await once(host.child, 'exit')
  expect(host.child.exitCode).toBe(0)
  return place
}

describe('a host whose trainer is a thread', () => {
  it.for(['SIGSEGV', 'SIGKILL'] as const)(
    'and that dies of %s while it trains gives the trainer a process of its own at the next start',
    async (signal, { skip }) => {
      if (process.platform === 'win32') return skip(noSignals)
      await using folder = await temporaryFolder()
      await writeTinyModel(join(folder.path, 'tiny.gguf'))
      const host = startHost(folder.path, 'for-ever')
      expect(await nextLine(host)).toEqual({ isolation: 'thread', crashedAt: null })
      expect(await nextLine(host)).toBe('training')
      const ended = once(host.child, 'exit')
      process.kill(host.child.pid ?? 0, signal)
      expect(await ended).toEqual([null, signal])
      expect(existsSync(join(folder.path, 'trainer.running'))).toBe(true)

      const after = (await placeAtStart(folder.path)) as TrainerPlace
      expect(after.isolation).toBe('process')
      expect(after.crashedAt).toBeGreaterThan(Date.now() - 3_600_000)
      expect(existsSync(join(folder.path, 'trainer.running'))).toBe(false)
      expect(readFileSync(join(folder.path, 'logs/hone.log'), 'utf8')).toContain(
        `Process ${host.child.pid} ended in the middle of training`,
      )
      // It stays so, with the reason, until the user says otherwise.
      expect(await placeAtStart(folder.path)).toEqual(after)
      {
        using store = openStore({ dataDir: folder.path })
        store.updateSettings({ trainerIsolation: 'thread' })
      }
      expect(await placeAtStart(folder.path)).toEqual({ isolation: 'thread', crashedAt: null })
    },
  )

  it('and that ends in order after training stays as it is', async () => {
    await using folder = await temporaryFolder()
    await writeTinyModel(join(folder.path, 'tiny.gguf'))
    const host = startHost(folder.path, 'once')
    const ended = once(host.child, 'exit')
    expect(await ended).toEqual([0, null])
    expect(await placeAtStart(folder.path)).toEqual({ isolation: 'thread', crashedAt: null })
  })
})

interface OpenTrainer extends AsyncDisposable {
  readonly store: Store
  readonly trainer: TrainerAccess
  /** The processes that were started, oldest first. */
  readonly pids: number[]
}

/** A trainer in this process, on the tiny model. */
async function openOn(dataDir: string): Promise<OpenTrainer> {
  const model = join(dataDir, 'tiny.gguf')
  await writeTinyModel(model)
  const store = openStore({ dataDir })
  const lease = new SharedArrayBuffer(4 * leaseWords.length)
  new Int32Array(lease)[leaseWords.threads] = 1
  const pids: number[] = []
  const spawnChild: SpawnChild = (script, args) => {
    const child = forkChild(script, args)
    pids.push(child.pid ?? 0)
    return child
  }
  const log = openLog(dataDir)
  const parts = { store, log, dataDir, lease, spawn: spawnChild, modelPath: () => model }
  const trainer = openTrainer(parts)
  return {
    store,
    trainer,
    pids,
    async [Symbol.asyncDispose]() {
      await trainer[Symbol.asyncDispose]()
      store[Symbol.dispose]()
    },
  }
}

async function eventsOf(client: TrainerClient, folder: string): Promise<TrainEvent['kind'][]> {
  const kinds: TrainEvent['kind'][] = []
  for await (const event of await client.train(tinyTrainRequest(folder))) kinds.push(event.kind)
  return kinds
}

/** Trains without end; resolves at the first step, with the rest of the run. */
async function trainUntilStep(
  client: TrainerClient,
  folder: string,
): Promise<{ readonly rest: Promise<void> }> {
  const request = tinyTrainRequest(folder, { config: { passes: 1_000_000 } })
  const stream = await client.train(request)
  for (;;) {
    const { value, done } = await stream.next()
    if (done === true) throw new Error('the run ended by itself')
    if (value.kind === 'step') break
  }
  const rest = (async () => {
    for await (const event of stream) void event
  })()
  rest.catch(() => undefined)
  return { rest }
}

it('says what training runs on before there is a model, from kernels kept in the data folder', async () => {
  await using folder = await temporaryFolder()
  await using host = await openOn(folder.path)
  const backend = await host.trainer.backend()
  expect(backend.device).not.toBe('')
  expect(backend.kernels === null).toBe(backend.reason !== null)
  expect(existsSync(join(folder.path, 'kernels'))).toBe(backend.kernels !== null)
  expect(host.trainer.sentence()).toMatch(/^Training runs on .*(kernels|ggml alone)/)
})

describe('a host whose trainer is a process', () => {
  it('outlives its SIGSEGV: the run fails with the reason and the next one works', async ({
    skip,
  }) => {
    if (process.platform === 'win32') return skip(noSignals)
    await using folder = await temporaryFolder()
    await using host = await openOn(folder.path)
    const { store, trainer, pids } = host
    store.updateSettings({ trainerIsolation: 'process' })
    for (const signal of ['SIGSEGV', 'SIGABRT'] as const) {
      const { rest } = await trainUntilStep(await trainer.client(), folder.path)
      process.kill(pids.at(-1) ?? 0, signal)
      await expect(rest).rejects.toMatchObject({
        name: 'AppError',
        code: 'internal',
        message: expect.stringMatching(
          new RegExp(`ended in the middle of its work \\(${signal}\\)`),
        ),
      })
      // A crash says nothing about the model: training is still possible.
      expect(trainer.problem()).toBeNull()
    }
    expect((await eventsOf(await trainer.client(), folder.path)).at(-1)).toBe('done')
    expect(new Set(pids).size).toBe(3)
    expect(trainer.place()).toEqual({ isolation: 'process', crashedAt: null })
    expect(readFileSync(join(folder.path, 'logs/hone.log'), 'utf8')).toContain('SIGSEGV')
  })

  it('uses another place for the next run when the setting changes, and not in the middle of one', async () => {
    await using folder = await temporaryFolder()
    await using host = await openOn(folder.path)
    const { store, trainer, pids } = host
    const request = tinyTrainRequest(folder.path)
    const stream = await (await trainer.client()).train(request)
    await stream.next()
    store.updateSettings({ trainerIsolation: 'process' })
    // The run in progress keeps its thread; a question in between is answered by it.
    await trainer.client()
    expect(pids).toEqual([])
    for await (const event of stream) void event
    expect((await eventsOf(await trainer.client(), folder.path)).at(-1)).toBe('done')
    expect(pids).toHaveLength(1)
  })
})
