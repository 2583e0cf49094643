// The trainer contract's handlers, the same in a thread and in a process of its own.
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { trainerContract } from '../../shared/contract/trainer.ts'
import type { TrainEvent } from '../../shared/contract/trainer.ts'
import { toRpcError, type ServablePort } from '../rpc/index.ts'
import { createTrainer, type Trainer } from '../training/index.ts'
import { grantedThreads, leasedYieldPoint } from './lease.ts'
import type { RunningMarker } from './running-marker.ts'

export interface TrainerService {
  readonly port: ServablePort
  /** The words of the governor's lease. */
  readonly words: Int32Array<SharedArrayBuffer>
  /** Where native code runs in a process that has more to lose; null elsewhere. */
  readonly marker: RunningMarker | null
  /** Where compiled kernels are kept. */
  readonly kernelCacheDir: string
}

/** Serves until the port closes; whoever serves disposes of the trainer then. */
export function serveTrainer(service: TrainerService): Trainer {
  const { port, words, marker, kernelCacheDir } = service
  const trainer = createTrainer({
    engineOptions: { threads: grantedThreads(words), precision: 'native', kernelCacheDir },
    yieldPoint: leasedYieldPoint(words),
    ...(marker === null ? {} : { aroundNativeWork: marker.around }),
  })
  const served = implement(trainerContract).use(async ({ next }) => {
    try {
      return await next()
    } catch (thrown) {
      throw toRpcError(thrown)
    }
  })
  const router = served.router({
    load: served.load.handler(({ input }) => trainer.load(input)),
    backend: served.backend.handler(({ input }) => trainer.backend(input)),
    train: served.train.handler(({ input, signal }) => translated(trainer.train(input, signal))),
    drift: served.drift.handler(({ input, signal }) => trainer.drift(input, signal)),
    probe: served.probe.handler(({ input, signal }) => trainer.probe(input, signal)),
    unload: served.unload.handler(() => trainer.unload()),
  })
  new RPCHandler(router).upgrade(port)
  return trainer
}

/** The middleware sees the call, not what the stream throws later. */
async function* translated(events: AsyncGenerator<TrainEvent>): AsyncGenerator<TrainEvent> {
  try {
    yield* events
  } catch (thrown) {
    throw toRpcError(thrown)
  }
}
