// The caller's side of a contract on a message port whose other end may die: calls that it takes along reject with the
// reason, and calls in progress are counted.
import { createORPCClient, mapEventIterator } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { AppError } from '../../shared/errors.ts'

export type CallerPort = ConstructorParameters<typeof RPCLink>[0]['port']

export interface Remote<Client> {
  readonly client: Client
  /** Calls and streams that have not ended. */
  calls(): number
}

/** `lost` says why the other end is gone; null while it is there, or where it left as asked. */
export function remote<Client>(
  port: CallerPort,
  lost: () => Promise<AppError | null> | null,
): Remote<Client> {
  let calls = 0
  const explained = async (thrown: unknown): Promise<unknown> => (await lost()) ?? thrown
  // A stream that ended says so once, whichever way it ended.
  const watched = (stream: AsyncIterator<unknown>): AsyncIterator<unknown> => {
    let isOpen = true
    const end = (): void => {
      if (isOpen) calls -= 1
      isOpen = false
    }
    const counted: AsyncIterator<unknown> = {
      next: () => stream.next(),
      async return() {
        end()
        return (await stream.return?.()) ?? { done: true, value: undefined }
      },
    }
    return mapEventIterator(counted, {
      value: async (value, isLast) => {
        if (isLast === true) end()
        return value
      },
      error: async (error) => {
        end()
        return await explained(error)
      },
    })
  }
  const link = new RPCLink({
    port,
    interceptors: [
      async ({ next }) => {
        calls += 1
        try {
          const answer = await next()
          if (isStream(answer)) return watched(answer)
          calls -= 1
          return answer
        } catch (thrown) {
          calls -= 1
          throw await explained(thrown)
        }
      },
    ],
  })
  return { client: createORPCClient(link) as Client, calls: () => calls }
}

function isStream(answer: unknown): answer is AsyncIterator<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
}
