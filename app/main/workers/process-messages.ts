// What passes between the host and a trainer in its own process: the contract's own messages, and the words of the lease,
// since memory cannot be shared between processes.
import { z } from 'zod'

export const toTrainerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('lease'), words: z.array(z.number().int()) }),
  z.object({ kind: z.literal('rpc'), data: z.unknown() }),
  z.object({ kind: z.literal('close') }),
])
export type ToTrainer = z.infer<typeof toTrainerSchema>

export const fromTrainerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('rpc'), data: z.unknown() }),
])
export type FromTrainer = z.infer<typeof fromTrainerSchema>

type Listener = (event?: { data: unknown }) => void

/** A message port, in the shape that oRPC takes, whose other end lies across a process's boundary. */
export interface RelayPort {
  on(event: string, listener: Listener): void
  postMessage(data: unknown): void
  /** A message of the other end. */
  deliver(data: unknown): void
  close(): void
}

export function relayPort(send: (data: unknown) => void): RelayPort {
  const listeners: Record<'message' | 'close', Listener[]> = { message: [], close: [] }
  let isOpen = true
  return {
    on(event, listener) {
      if (event === 'message' || event === 'close') listeners[event].push(listener)
    },
    postMessage(data) {
      if (isOpen) send(data)
    },
    deliver(data) {
      for (const listener of listeners.message) listener({ data })
    },
    close() {
      if (!isOpen) return
      isOpen = false
      for (const listener of listeners.close) listener()
    },
  }
}
