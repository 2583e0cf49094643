// The trainer as a process of its own, seen from the host: a port made of messages, the lease sent along, and a reason for
// every call that a crash takes with it.
import { AppError } from '../../shared/errors.ts'
import type { TrainerClient } from '../learning/index.ts'
import type { Child } from './child.ts'
import type { Started } from './handle.ts'
import { fromTrainerSchema, relayPort, type ToTrainer } from './process-messages.ts'
import { remote } from './remote.ts'

export interface StartedProcess extends Started<TrainerClient> {
  /** Sends the words of the lease if they are others than before. */
  leaseChanged(): void
}

/** How long a process that was asked to leave may take: a segment of work, then freeing its memory. */
const leaveMs = 20_000

export function startTrainerProcess(options: {
  readonly lease: SharedArrayBuffer
  readonly child: Child
}): StartedProcess {
  const { child } = options
  const send = whenReady(child)
  const leaseChanged = leaseSender(options.lease, send)
  const port = relayPort((data) => {
    // No call may find the lease of an earlier one.
    leaseChanged()
    send({ kind: 'rpc', data })
  })
  child.onMessage((received) => {
    const message = fromTrainerSchema.parse(received)
    if (message.kind === 'rpc') port.deliver(message.data)
  })
  let isOver = false
  let isAsked = false
  const exited = new Promise<AppError | null>((resolve) => {
    child.onExit((end) => {
      isOver = true
      resolve(isAsked ? null : lostProcess(end))
      port.close()
    })
  })
  const close = (): void => {
    if (isAsked) return
    isAsked = true
    isOver = true
    send({ kind: 'close' })
    port.close()
    const timer = setTimeout(() => child.kill(), leaveMs)
    void exited.then(() => clearTimeout(timer))
  }
  return { remote: remote(port, () => (isOver ? exited : null)), close, exited, leaseChanged }
}

/** Keeps messages until the child listens. */
function whenReady(child: Child): (message: ToTrainer) => void {
  const early: ToTrainer[] = []
  let isReady = false
  child.onMessage((received) => {
    if (isReady || fromTrainerSchema.parse(received).kind !== 'ready') return
    isReady = true
    for (const message of early) child.send(message)
  })
  return (message) => {
    if (isReady) child.send(message)
    else early.push(message)
  }
}

function leaseSender(lease: SharedArrayBuffer, send: (message: ToTrainer) => void): () => void {
  const shared = new Int32Array(lease)
  let sent = ''
  return () => {
    const words = Array.from(shared)
    if (sent === String(words)) return
    sent = String(words)
    send({ kind: 'lease', words })
  }
}

function lostProcess(end: string): AppError {
  const message = `The trainer's process ended in the middle of its work (${end}). The next run starts a new one.`
  return new AppError('internal', message, { data: { end } })
}
