// Starts the two worker threads, each behind its own contract on its own message channel (PLATFORM: oRPC).
// A worker that dies takes its pending calls with it; the next call starts a fresh one.
import { MessageChannel, Worker } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { judgePortContract } from '../../shared/contract/prm.ts'
import { AppError } from '../../shared/errors.ts'
import type { PrmClient, TrainerClient } from '../learning/index.ts'
import { toRpcError } from '../rpc/index.ts'

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

export interface WorkerHandle<Client> extends AsyncDisposable {
  client(): Client
  /** Whether a thread is running now. */
  isRunning(): boolean
}

interface Started {
  readonly worker: Worker
  readonly client: unknown
  readonly close: () => void
  readonly exited: Promise<void>
}

/** Entries are TypeScript when run from source and JavaScript when bundled. */
function entry(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new URL(`./${name}.worker.${extension}`, import.meta.url)
}

function start(
  name: string,
  data: { readonly lease?: SharedArrayBuffer; readonly judge?: JudgeHandlers },
): Started {
  const main = new MessageChannel()
  const judge = data.judge === undefined ? null : new MessageChannel()
  if (judge !== null && data.judge !== undefined) serveJudge(judge.port1, data.judge)
  const worker = new Worker(entry(name), {
    workerData: { port: main.port2, judgePort: judge?.port2 ?? null, lease: data.lease ?? null },
    transferList: judge === null ? [main.port2] : [main.port2, judge.port2],
  })
  const close = (): void => {
    main.port1.close()
    judge?.port1.close()
  }
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.once('exit', close)
  main.port1.start()
  const client: unknown = createORPCClient(new RPCLink({ port: main.port1 }))
  return { worker, client, close, exited }
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

function handle<Client>(
  make: () => Started,
  onFailure: (error: unknown) => void,
): WorkerHandle<Client> {
  let started: Started | null = null
  let isClosed = false
  return {
    client() {
      if (isClosed) throw new AppError('unavailable', 'The program is closing.')
      if (started === null) {
        const fresh = make()
        started = fresh
        // The error itself reaches the caller as a closed port; the next call starts again.
        fresh.worker.once('error', onFailure)
        fresh.worker.once('exit', () => {
          if (started === fresh) started = null
        })
      }
      return started.client as Client
    },
    isRunning: () => started !== null,
    async [Symbol.asyncDispose]() {
      isClosed = true
      const open = started
      if (open === null) return
      // Workers drain and leave by themselves when their port closes; nothing is terminated in mid-work.
      open.close()
      await open.exited
    },
  }
}

export function startTrainer(
  lease: SharedArrayBuffer,
  onFailure: (error: unknown) => void,
): WorkerHandle<TrainerClient> {
  return handle<TrainerClient>(() => start('trainer', { lease }), onFailure)
}

export function startPrm(
  judge: JudgeHandlers,
  onFailure: (error: unknown) => void,
): WorkerHandle<PrmClient> {
  return handle<PrmClient>(() => start('prm', { judge }), onFailure)
}
