import { expect, it } from 'vitest'
import { leaseWords } from '../../shared/contract/trainer.ts'
import type { Child } from './child.ts'
import { connectToParent, type ParentHost } from './parent-link.ts'
import { startTrainerProcess } from './start-process.ts'

/** A child whose side the test plays. */
function fakeChild() {
  const sent: unknown[] = []
  const listeners: ((message: unknown) => void)[] = []
  let ended: (end: string) => void = () => undefined
  const child: Child = {
    pid: 1,
    send: (message) => sent.push(message),
    onMessage: (listener) => listeners.push(listener),
    onExit: (listener) => {
      ended = listener
    },
    kill: () => undefined,
  }
  return {
    child,
    sent,
    say: (message: unknown) => {
      for (const listener of listeners) listener(message)
    },
    end: (how: string) => ended(how),
  }
}

function started() {
  const fake = fakeChild()
  const lease = new SharedArrayBuffer(4 * leaseWords.length)
  const words = new Int32Array(lease)
  const trainer = startTrainerProcess({ lease, child: fake.child })
  return { ...fake, words, trainer }
}

it('keeps everything until the child listens, then sends the lease before the call', async () => {
  const { sent, say, words, trainer, end } = started()
  words[leaseWords.threads] = 3
  const call = trainer.remote.client.unload()
  call.catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  expect(sent).toEqual([])
  say({ kind: 'ready' })
  expect(sent).toMatchObject([{ kind: 'lease', words: [0, 3, 0] }, { kind: 'rpc' }])
  end('SIGSEGV')
  await expect(call).rejects.toMatchObject({ name: 'AppError', data: { end: 'SIGSEGV' } })
})

it('sends the words of the lease when they are others than before', () => {
  const { sent, say, words, trainer } = started()
  say({ kind: 'ready' })
  trainer.leaseChanged()
  trainer.leaseChanged()
  words[leaseWords.stop] = 1
  trainer.leaseChanged()
  expect(sent).toEqual([
    { kind: 'lease', words: [0, 0, 0] },
    { kind: 'lease', words: [1, 0, 0] },
  ])
})

it('counts an end that was asked for as no failure', async () => {
  const { sent, say, trainer, end } = started()
  say({ kind: 'ready' })
  trainer.close()
  expect(sent).toContainEqual({ kind: 'close' })
  end('exit code 0')
  expect(await trainer.exited).toBeNull()
})

it('counts an end that nobody asked for as a failure, with how it came', async () => {
  const { trainer, end } = started()
  end('exit code 3')
  expect(await trainer.exited).toMatchObject({ code: 'internal', data: { end: 'exit code 3' } })
})

it('speaks with a parent of either kind, and says so when there is none', () => {
  const heard: unknown[] = []
  const posted: unknown[] = []
  const electron: ParentHost = {
    parentPort: {
      postMessage: (message) => posted.push(message),
      on: (_event, listener) => listener({ data: 'from Electron' }),
    },
    on: () => undefined,
  }
  const node: ParentHost = {
    send: (message) => posted.push(message),
    on: (event: string, listener: (message: unknown) => void) => {
      if (event === 'message') listener('from Node')
    },
  }
  for (const host of [electron, node]) {
    const parent = connectToParent(host)
    parent.onMessage((message) => heard.push(message))
    parent.send({ kind: 'ready' })
  }
  expect(heard).toEqual(['from Electron', 'from Node'])
  expect(posted).toEqual([{ kind: 'ready' }, { kind: 'ready' }])
  expect(() => connectToParent({ on: () => undefined })).toThrow(/without a parent/)
})
