// Entry of the trainer as a process of its own: the same service as in a thread, with the contract's messages and the
// words of the lease as messages of its parent. Leaves by itself when it is asked to and when the parent is gone.
import { leaseWords } from '../../shared/contract/trainer.ts'
import { AppError } from '../../shared/errors.ts'
import { connectToParent } from './parent-link.ts'
import { relayPort, toTrainerSchema } from './process-messages.ts'
import { serveTrainer } from './serve-trainer.ts'

// The folder of compiled kernels is the only argument.
const [kernelCacheDir] = process.argv.slice(2)
if (kernelCacheDir === undefined) throw new AppError('internal', 'no folder for kernels was given')
const words = new Int32Array(new SharedArrayBuffer(4 * leaseWords.length))
const parent = connectToParent()
const port = relayPort((data) => parent.send({ kind: 'rpc', data }))
const trainer = serveTrainer({ port, words, marker: null, kernelCacheDir })

let isLeaving = false
async function leave(): Promise<void> {
  if (isLeaving) return
  isLeaving = true
  port.close()
  await trainer[Symbol.asyncDispose]()
  process.exit(0)
}

parent.onMessage((received) => {
  const message = toTrainerSchema.parse(received)
  if (message.kind === 'rpc') port.deliver(message.data)
  if (message.kind === 'close') void leave()
  if (message.kind !== 'lease') return
  message.words.forEach((value, index) => Atomics.store(words, index, value))
  Atomics.notify(words, leaseWords.stop)
})
parent.onClose(() => void leave())
// A terminal's signals go to the parent as well, and it asks for the end when its own work is put away.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
parent.send({ kind: 'ready' })
