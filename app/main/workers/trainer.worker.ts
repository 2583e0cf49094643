// Entry of the trainer thread: serves the trainer contract on one port, under the governor's lease. Leaves by itself when
// the port closes, after the running segment has ended and every native object is freed.
import { workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { trainerContract } from '../../shared/contract/trainer.ts'
import type { TrainEvent } from '../../shared/contract/trainer.ts'
import { toRpcError } from '../rpc/index.ts'
import { createTrainer } from '../training/index.ts'
import { grantedThreads, leasedYieldPoint } from './lease.ts'

interface TrainerWorkerData {
  readonly port: MessagePort
  readonly lease: SharedArrayBuffer
}

const { port, lease } = workerData as TrainerWorkerData
const words = new Int32Array(lease)
const trainer = createTrainer({
  engineOptions: { threads: grantedThreads(words), precision: 'native' },
  yieldPoint: leasedYieldPoint(words),
})

const served = implement(trainerContract).use(async ({ next }) => {
  try {
    return await next()
  } catch (thrown) {
    throw toRpcError(thrown)
  }
})

// The middleware sees the call, not what the stream throws later.
async function* translated(events: AsyncGenerator<TrainEvent>): AsyncGenerator<TrainEvent> {
  try {
    yield* events
  } catch (thrown) {
    throw toRpcError(thrown)
  }
}

const router = served.router({
  load: served.load.handler(({ input }) => trainer.load(input)),
  train: served.train.handler(({ input, signal }) => translated(trainer.train(input, signal))),
  drift: served.drift.handler(({ input, signal }) => trainer.drift(input, signal)),
  probe: served.probe.handler(({ input, signal }) => trainer.probe(input, signal)),
  unload: served.unload.handler(() => trainer.unload()),
})

new RPCHandler(router).upgrade(port)
port.once('close', () => void trainer[Symbol.asyncDispose]())
port.start()
