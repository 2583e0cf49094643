// The parent of a child process as seen from inside: Node's `process.send` or Electron's `process.parentPort`.
import { AppError } from '../../shared/errors.ts'
import type { FromTrainer } from './process-messages.ts'

export interface ParentLink {
  send(message: FromTrainer): void
  onMessage(listener: (message: unknown) => void): void
  /** The parent is gone. Electron ends its children itself. */
  onClose(listener: () => void): void
}

/** Electron's `process.parentPort`, as far as it is used. */
interface ParentPort {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { readonly data: unknown }) => void): unknown
}

/** What a process has of its parent; `process` itself but in tests. */
export interface ParentHost {
  readonly parentPort?: ParentPort
  readonly send?: (message: unknown, ...rest: [undefined, undefined, () => void]) => unknown
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
}

export function connectToParent(host: ParentHost = process as ParentHost): ParentLink {
  const { parentPort } = host
  if (parentPort !== undefined) {
    return {
      send: (message) => parentPort.postMessage(message),
      onMessage: (listener) => void parentPort.on('message', ({ data }) => listener(data)),
      onClose: () => undefined,
    }
  }
  if (host.send === undefined) {
    throw new AppError('internal', 'the trainer was started without a parent')
  }
  const send = host.send.bind(host)
  return {
    // A parent that has just gone is noticed by `disconnect`.
    send: (message) => void send(message, undefined, undefined, () => undefined),
    onMessage: (listener) => void host.on('message', listener),
    onClose: (listener) => void host.on('disconnect', listener),
  }
}
