// Starts the two workers, each behind its own contract (PLATFORM: oRPC): the judge as a thread, the trainer as a thread or
// as a process of its own. A worker that dies takes its pending calls with it; the next call starts a fresh one.
import { MessageChannel, Worker } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { judgePortContract } from '../../shared/contract/prm.ts'
import { AppError } from '../../shared/errors.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type { PrmClient, TrainerClient } from '../learning/index.ts'
import { toRpcError } from '../rpc/index.ts'
import type { SpawnChild } from './child.ts'
import { workerHandle, type Started, type WorkerHandle } from './handle.ts'
import { remote } from './remote.ts'
import { startTrainerProcess } from './start-process.ts'

export type { WorkerHandle } from './handle.ts'
export type Isolation = Settings['trainerIsolation']

/** What the host does for the judge: it owns the model. */
export interface JudgeHandlers {
  score(input: {
    readonly system: string
    readonly user: string
    readonly prefix: string
    readonly labels: readonly string[]
  }): Promise<number[]>
  generate(input: {
    readonly system: string
    readonly user: string
    readonly temperature: number
    readonly seed: number
    readonly maxTokens: number
  }): Promise<string>
}

export interface TrainerStart {
  /** The governor's words. */
  readonly lease: SharedArrayBuffer
  readonly isolation: Isolation
  /** Marks native work inside the host's process. */
  readonly markerPath: string
  /** Where compiled kernels are kept. */
  readonly kernelCacheDir: string
  readonly spawn: SpawnChild
}

/** Entries are TypeScript when run from source and JavaScript when bundled. */
function entry(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new URL(`./${name}.worker.${extension}`, import.meta.url)
}

function startThread<Client>(
  name: string,
  data: { readonly judge?: JudgeHandlers; readonly trainer?: TrainerStart },
): Started<Client> {
  const main = new MessageChannel()
  const judge = data.judge === undefined ? null : new MessageChannel()
  if (judge !== null && data.judge !== undefined) serveJudge(judge.port1, data.judge)
  const { lease, markerPath, kernelCacheDir } = data.trainer ?? {}
  const worker = new Worker(entry(name), {
    workerData: {
      port: main.port2,
      judgePort: judge?.port2 ?? null,
      ...{ lease, markerPath, kernelCacheDir },
    },
    transferList: judge === null ? [main.port2] : [main.port2, judge.port2],
  })
  const close = (): void => {
    main.port1.close()
    judge?.port1.close()
  }
  let failure: AppError | null = null
  worker.once('error', (cause) => {
    failure = new AppError('internal', `The ${name} ended: ${cause.message}`, { cause })
  })
  const exited = new Promise<AppError | null>((resolve) => {
    worker.once('exit', () => {
      resolve(failure)
      close()
    })
  })
  // The port may close before the thread says why.
  let isOver = false
  main.port1.once('close', () => {
    isOver = true
  })
  const caller = remote<Client>(main.port1, () => (isOver ? exited : null))
  main.port1.start()
  return { remote: caller, close, exited }
}

function serveJudge(port: MessageChannel['port1'], handlers: JudgeHandlers): void {
  const contract = implement(judgePortContract).use(async ({ next }) => {
    try {
      return await next()
    } catch (thrown) {
      throw toRpcError(thrown)
    }
  })
  const router = contract.router({
    score: contract.score.handler(async ({ input }) => ({ logProbs: await handlers.score(input) })),
    generate: contract.generate.handler(async ({ input }) => ({
      text: await handlers.generate(input),
    })),
  })
  new RPCHandler(router).upgrade(port)
  port.start()
}

export interface TrainerHandle extends WorkerHandle<TrainerClient> {
  /** The words of the lease have changed: a process of its own must be told. */
  leaseChanged(): void
}

/** `options` is asked at each start, so that a changed setting holds for the next one. */
export function startTrainer(
  options: () => TrainerStart,
  onFailure: (failure: AppError) => void,
): TrainerHandle {
  let tell = (): void => undefined
  const start = (): Started<TrainerClient> => {
    const chosen = options()
    if (chosen.isolation === 'thread') {
      tell = () => undefined
      return startThread('trainer', { trainer: chosen })
    }
    const script = fileURLToPath(entry('trainer-process'))
    const started = startTrainerProcess({
      lease: chosen.lease,
      child: chosen.spawn(script, [chosen.kernelCacheDir]),
    })
    tell = started.leaseChanged
    return started
  }
  return { ...workerHandle(start, onFailure), leaseChanged: () => tell() }
}

export function startPrm(
  judge: JudgeHandlers,
  onFailure: (failure: AppError) => void,
): WorkerHandle<PrmClient> {
  return workerHandle<PrmClient>(() => startThread('prm', { judge }), onFailure)
}
