// Builds everything, in order: store → policy → workers → chat and learning → services. The one place where
// folders meet. Disposing goes the other way round.
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { copyFile, readdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { EventPublisher } from '@orpc/server'
import { leaseWords } from '../shared/contract/trainer.ts'
import type { AppEvent, SystemInfo } from '../shared/contract/app.ts'
import { AppError, toAppError } from '../shared/errors.ts'
import { chatView, createChatService, type ChatService } from './chat/index.ts'
import {
  createGovernor,
  createLearningLoop,
  curves,
  heatMap,
  heatMaps,
  runSummaries,
  type Governor,
  type LearningDeps,
  type LearningLoop,
  type PrmClient,
  weighRules,
} from './learning/index.ts'
import { openPolicy, type Policy } from './policy/index.ts'
import { judgeHandlers } from './judge-handlers.ts'
import { openLog, type Log } from './log.ts'
import { learningRules } from './learning-rules.ts'
import { loadResources } from './resources.ts'
import type { Services } from './rpc/index.ts'
import { openStore, type Store } from './store/index.ts'
import { openTrainer, type TrainerAccess } from './trainer-access.ts'
import { forkChild, type SpawnChild } from './workers/child.ts'
import { startPrm, type WorkerHandle } from './workers/start.ts'

export interface ComposeOptions {
  readonly dataDir: string
  /** A GGUF file; null = the newest one in the data folder's `models`. */
  readonly modelPath: string | null
  /** Makes the seeds of replies a fixed sequence; null = random ones. */
  readonly seed?: number | null
  /** How a child process is started; default: Node's fork. */
  readonly spawnChild?: SpawnChild
}

export interface App extends AsyncDisposable {
  readonly services: Services
}

const appVersion = '0.1.0'
const tickMs = 1000
const notesInPrompt = 3

async function findModel(options: ComposeOptions): Promise<string> {
  if (options.modelPath !== null) return options.modelPath
  const dir = join(options.dataDir, 'models')
  const files = existsSync(dir) ? await readdir(dir) : []
  const found = files.filter((file) => file.endsWith('.gguf')).toSorted()[0]
  if (found === undefined) {
    throw new AppError(
      'not-found',
      `There is no model in ${dir}. Fetch one, or start with --model FILE.`,
    )
  }
  return join(dir, found)
}

interface Serving {
  readonly policy: Policy | null
  /** Why there is none. */
  readonly error: string | null
}

/** A model that cannot be loaded leaves the app usable: chats can be read, and the reason is shown. */
async function startPolicy(options: ComposeOptions, threads: number): Promise<Serving> {
  try {
    const modelPath = await findModel(options)
    return { policy: await openPolicy({ modelPath, device: 'auto', threads }), error: null }
  } catch (thrown) {
    return { policy: null, error: toAppError(thrown).message }
  }
}

/** Quiet time: since the last request, or zero while somebody is served or judged. */
function createClock(demand: () => number) {
  let touchedAt = Date.now()
  const touch = (): void => {
    touchedAt = Date.now()
  }
  return {
    demand,
    touch,
    quietMs() {
      if (demand() > 0) touch()
      return Date.now() - touchedAt
    },
  }
}

/** The file's name says more to a person than many a header's `general.name`. */
function modelName(path: string): string {
  return basename(path).replace(/\.gguf$/i, '')
}

function modelInfo(policy: Policy | null): SystemInfo['model'] {
  if (policy === null) return null
  const { modelId, path, architecture, contextSize, sizeBytes } = policy.info()
  return { id: modelId, name: modelName(path), path, architecture, contextSize, sizeBytes }
}

function systemInfo(parts: {
  readonly serving: Serving
  readonly store: Store
  readonly dataDir: string
  readonly threads: number
  readonly trainer: TrainerAccess
  readonly loop: LearningLoop
}): SystemInfo {
  const { serving } = parts
  const info = serving.policy?.info()
  return {
    appVersion,
    model: modelInfo(serving.policy),
    modelError: serving.error,
    compute: {
      device: info?.device ?? 'cpu',
      sentence: info?.deviceSentence ?? 'No model is loaded.',
      threads: parts.threads,
    },
    trainer: {
      available: serving.policy !== null && parts.trainer.problem() === null,
      sentence: serving.policy === null ? 'No model is loaded.' : parts.trainer.sentence(),
      ...parts.trainer.place(),
    },
    judge: {
      ...(serving.policy === null
        ? { sentence: 'The rules judge alone: no model is loaded.', abstains: true }
        : parts.loop.judgeSentence()),
      rules: weighRules(parts.store.ruleRecords()),
    },
    dataDir: parts.dataDir,
    readOnly: parts.store.readOnlyReason(),
  }
}

async function exportVersion(
  parts: { readonly store: Store; readonly dataDir: string; readonly policy: () => Policy },
  version: number,
): Promise<{ path: string; command: string }> {
  const row = parts.store.version(version)
  if (row === null) throw new AppError('not-found', `There is no version v${version}.`)
  const dir = join(parts.dataDir, 'exports')
  mkdirSync(dir, { recursive: true })
  const { path: modelPath } = parts.policy().info()
  const name = modelName(modelPath).replaceAll(/[^\w.-]+/g, '-')
  const path = join(dir, `hone-${name}-v${version}.gguf`)
  await copyFile(row.path, path)
  return { path, command: `llama-cli -m "${basename(modelPath)}" --lora "${path}"` }
}

interface Core {
  readonly log: Log
  readonly store: Store
  readonly events: EventPublisher<{ app: AppEvent }>
  readonly serving: Serving
  readonly policy: () => Policy
  readonly threads: number
  readonly clock: ReturnType<typeof createClock>
  readonly governor: Governor
  readonly trainer: TrainerAccess
  readonly prmWorker: WorkerHandle<PrmClient>
  readonly dispose: () => Promise<void>
}

/** Store, policy, governor and the two workers. */
async function composeCore(options: ComposeOptions): Promise<Core> {
  const store = openStore({ dataDir: options.dataDir })
  const log = openLog(options.dataDir)
  store.closeInterrupted()
  store.closeInterruptedRuns()
  const cores = availableParallelism()
  const threads = Math.max(1, cores - 1)
  const serving = await startPolicy(options, threads)
  log.note(serving.error ?? `serving ${serving.policy?.info().deviceSentence ?? ''}`)
  const policy = (): Policy => {
    if (serving.policy !== null) return serving.policy
    throw new AppError('unavailable', serving.error ?? 'No model is loaded.')
  }
  const clock = createClock(() => {
    const load = serving.policy?.load()
    return load === undefined ? 0 : load.serve + load.judge
  })
  const memory = new SharedArrayBuffer(leaseWords.length * Int32Array.BYTES_PER_ELEMENT)
  const trainer = openTrainer({
    store,
    log,
    dataDir: options.dataDir,
    lease: memory,
    spawn: options.spawnChild ?? forkChild,
    modelPath: () => policy().info().path,
  })
  const governor = createGovernor({
    memory,
    cores,
    demand: clock.demand,
    quietMs: clock.quietMs,
    onChange: () => trainer.leaseChanged(),
  })
  const unsubscribe = serving.policy?.onLoadChange(() => governor.update())
  const prmWorker = startPrm(judgeHandlers(policy), (error) => log.failure('prm thread', error))
  const events = new EventPublisher<{ app: AppEvent }>()
  const parts = { log, store, events, serving, policy, threads, clock, governor, trainer }
  return {
    ...parts,
    prmWorker,
    async dispose() {
      await trainer[Symbol.asyncDispose]()
      await prmWorker[Symbol.asyncDispose]()
      unsubscribe?.()
      await serving.policy?.[Symbol.asyncDispose]()
      store[Symbol.dispose]()
    },
  }
}

function learningDeps(core: Core, dataDir: string): LearningDeps {
  const adapterDir = join(dataDir, 'adapters')
  mkdirSync(adapterDir, { recursive: true })
  return {
    store: core.store,
    policy: core.policy,
    trainer: () => core.trainer.client(),
    prm: () => Promise.resolve(core.prmWorker.client()),
    rules: learningRules,
    resources: loadResources(),
    lease: core.governor,
    publish: (event) => core.events.publish('app', event),
    quietMs: core.clock.quietMs,
    now: Date.now,
    adapterDir,
  }
}

function composeChat(
  core: Core,
  loop: LearningLoop,
  options: { readonly deps: LearningDeps; readonly seeds: () => number },
): ChatService {
  const { store } = core
  const { deps, seeds } = options
  return createChatService({
    store,
    policy: core.policy,
    publish: deps.publish,
    scaffold: (request, chatId) =>
      store
        .notes()
        .filter((note) => note.state === 'prompt' && deps.rules.inScope(note, request, chatId))
        .toSorted((a, b) => b.updatedAt - a.updatedAt)
        .slice(0, notesInPrompt),
    onNextState: (turnId) => loop.judging.owe(turnId),
    onTurn: () => {
      core.clock.touch()
      loop.announce()
    },
    seed: seeds,
  })
}

/** Seeds of replies: random, or `first`, `first` + 1, … */
function seedSequence(first: number | null): () => number {
  if (first === null) return () => randomInt(2 ** 31)
  let next = first
  return () => next++
}

function learningServices(deps: LearningDeps, loop: LearningLoop): Services['learning'] {
  return {
    ...loop.notes,
    status: loop.status,
    trainNow: loop.trainNow,
    practiceNow: loop.practiceNow,
    activate: loop.activate,
    announce: loop.announce,
    tick: loop.tick,
    hints: loop.hints,
    curves: () => curves(deps),
    runs: () => runSummaries(deps),
    heatMaps: () => heatMaps(deps),
    heatMap: (runId, sampleId) => heatMap(deps, runId, sampleId),
  }
}

export async function compose(options: ComposeOptions): Promise<App> {
  const core = await composeCore(options)
  const { store, serving, threads, clock, policy, trainer } = core
  const { dataDir } = options
  const deps = learningDeps(core, dataDir)
  const loop = createLearningLoop(deps, {
    unavailable: () => (serving.policy === null ? serving.error : trainer.problem()),
  })
  const chat = composeChat(core, loop, { deps, seeds: seedSequence(options.seed ?? null) })
  if (serving.policy !== null) await loop.resume()
  const timer = setInterval(() => {
    core.governor.update()
    loop.tick()
  }, tickMs)

  const services: Services = {
    log: core.log,
    store,
    chat,
    events: core.events,
    publish: deps.publish,
    learning: learningServices(deps, loop),
    chatView: (chatId) => chatView(store, chatId, serving.policy?.info().contextSize ?? 0),
    systemInfo: () => systemInfo({ serving, store, dataDir, threads, trainer, loop }),
    trainerBackend: () => trainer.backend(),
    exportVersion: (version) => exportVersion({ store, dataDir, policy }, version),
    touch: clock.touch,
  }
  return {
    services,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await chat[Symbol.asyncDispose]()
      await loop[Symbol.asyncDispose]()
      await core.dispose()
    },
  }
}
