// The trainer as the host uses it: where it runs, the model that it loads on first use, and in words why training is
// impossible or runs apart. A host that ended in the middle of native work starts the trainer as a process from then on.
import { join } from 'node:path'
import { z } from 'zod'
import { AppError, isAppError, toAppError } from '../shared/errors.ts'
import type { TrainerBackend, TrainerDevice } from '../shared/contract/trainer.ts'
import type { TrainerClient } from './learning/index.ts'
import type { Log } from './log.ts'
import type { Store } from './store/index.ts'
import type { SpawnChild } from './workers/child.ts'
import { readLeftMarker, removeLeftMarker } from './workers/running-marker.ts'
import { startTrainer, type Isolation, type TrainerHandle } from './workers/start.ts'

export interface TrainerParts {
  readonly store: Pick<Store, 'settings' | 'updateSettings' | 'value' | 'setValue'>
  readonly log: Log
  readonly dataDir: string
  /** The governor's words. */
  readonly lease: SharedArrayBuffer
  readonly spawn: SpawnChild
  readonly modelPath: () => string
}

export interface TrainerAccess extends AsyncDisposable {
  /** Why training is impossible; null when it is possible, as far as is known. */
  problem(): string | null
  sentence(): string
  /** Loads the model where it is not loaded. */
  client(): Promise<TrainerClient>
  /** What training runs on. May take seconds the first time, and until a run in progress has ended. */
  backend(): Promise<TrainerBackend>
  place(): TrainerPlace
  leaseChanged(): void
}

export interface TrainerPlace {
  readonly isolation: Isolation
  /** When the work began in which Hone ended, the reason for a process of its own; null = it was chosen. */
  readonly crashedAt: number | null
}

const crashKey = 'trainer-crash'
const crashSchema = z.object({ at: z.number() })

export function openTrainer(parts: TrainerParts): TrainerAccess {
  const markerPath = join(parts.dataDir, 'trainer.running')
  const kernelCacheDir = join(parts.dataDir, 'kernels')
  const crash = noteCrash(parts, markerPath)
  const isolation = (): Isolation =>
    crash.isUnsaved ? 'process' : parts.store.settings().trainerIsolation
  let running: Isolation | null = null
  const worker = startTrainer(
    () => {
      running = isolation()
      const { lease, spawn } = parts
      return { lease, spawn, isolation: running, markerPath, kernelCacheDir }
    },
    (failure) => parts.log.failure('trainer', failure),
  )
  const loader = modelLoader(parts, async () => {
    if (running !== isolation()) await worker.retire()
    return worker
  })
  return {
    ...loader,
    place() {
      const kept = crashSchema.safeParse(parts.store.value(crashKey)).data?.at ?? null
      const at = crash.startedAt ?? kept
      return { isolation: isolation(), crashedAt: isolation() === 'process' ? at : null }
    },
    leaseChanged: () => worker.leaseChanged(),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

interface NotedCrash {
  /** When the unfinished work began; null = the last process ended in order. */
  readonly startedAt: number | null
  /** The folder cannot be written: what follows from the crash holds for this process only. */
  readonly isUnsaved: boolean
}

/** Looks for the marker of a process that is no more; the store's lock says that this folder is ours alone. */
function noteCrash({ store, log }: TrainerParts, markerPath: string): NotedCrash {
  const left = readLeftMarker(markerPath)
  if (left === null) return { startedAt: null, isUnsaved: false }
  const { pid, startedAt } = left
  const since = new Date(startedAt).toISOString()
  log.note(
    `Process ${pid} ended in the middle of training that began at ${since}: the trainer gets a process of its own.`,
  )
  try {
    store.updateSettings({ trainerIsolation: 'process' })
    store.setValue(crashKey, { at: startedAt })
    // Last, so that a second crash in between finds it again.
    removeLeftMarker(markerPath)
    return { startedAt, isUnsaved: false }
  } catch (thrown) {
    const isUnsaved =
      isAppError(thrown) && (thrown.code === 'read-only' || thrown.code === 'disk-full')
    if (!isUnsaved) throw thrown
    return { startedAt, isUnsaved }
  }
}

/** Loads the training model on first use; why training is impossible is kept in words. */
function modelLoader(
  { modelPath, store }: TrainerParts,
  worker: () => Promise<TrainerHandle>,
): Pick<TrainerAccess, 'problem' | 'sentence' | 'client' | 'backend'> {
  let problem: string | null = null
  let backend: TrainerBackend | null = null
  let askedFor: TrainerDevice | null = null
  const device = (): TrainerDevice => store.settings().trainerDevice
  return {
    problem: () => problem,
    sentence: () =>
      problem ??
      (backend === null
        ? 'Training starts when there is something to learn from.'
        : `Training runs on ${backendWords(backend)}.`),
    async backend() {
      const wanted = device()
      if (backend === null || askedFor !== wanted) {
        backend = await (await worker()).client().backend({ device: wanted })
        askedFor = wanted
      }
      return backend
    },
    async client(): Promise<TrainerClient> {
      const client = (await worker()).client()
      try {
        const wanted = device()
        const loaded = await client.load({ modelPath: modelPath(), device: wanted })
        backend = loaded.backend
        askedFor = wanted
        problem = null
        return client
      } catch (thrown) {
        // A worker that died says nothing about the model: the next run starts another.
        if (isAppError(thrown) && thrown.code === 'internal') throw thrown
        const { message } = toAppError(thrown)
        problem = `Training is not possible with this model: ${message}`
        throw new AppError('unavailable', problem, { cause: thrown })
      }
    },
  }
}

/** With the reason where neither a GPU nor our own kernels run. */
function backendWords({ device, kind, kernels, reason }: TrainerBackend): string {
  if (kind !== 'cpu') return `${device} (${kind})`
  if (kernels !== null) return `${device} with Hone's ${kernels} kernels`
  return `${device} with ggml alone${reason === null ? '' : `: ${reason}`}`
}
