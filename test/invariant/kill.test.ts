// Kill −9 at random moments of streaming, judging, training and swapping: after the restart nothing that was
// acknowledged is missing and the active version answers. One moment of each kind here; all 20 in the soak.
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AppEvent } from '../../app/shared/contract/app.ts'
import { connect, type AppClient } from '../../eval/client.ts'
import { startHost } from '../../eval/host.ts'
import { createRandom } from '../../eval/random.ts'
import { defaultModelPath } from '../support/model.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const modelPath = defaultModelPath()
const isSoak = process.env['HONE_SOAK'] === '1'
const kinds = ['streaming', 'judging', 'training', 'swapping'] as const
type Kind = (typeof kinds)[number]
const rounds = isSoak ? 5 : 1
const minute = 60_000

/** What the host has acknowledged, and what was seen of the stream well before the kill. */
interface Ledger {
  readonly messages: Map<string, string>
  readonly approved: Set<string>
  readonly streamed: { readonly at: number; readonly messageId: string; readonly text: string }[]
}

function watch(client: AppClient, ledger: Ledger) {
  const waiting: { readonly test: (event: AppEvent) => boolean; readonly done: () => void }[] = []
  const follow = async (): Promise<void> => {
    for await (const event of await client.system.events()) {
      if (event.kind === 'token') ledger.streamed.push({ at: Date.now(), ...event })
      for (const each of waiting) if (each.test(event)) each.done()
    }
  }
  // The stream breaks when the host is killed: that is the point of the test.
  const ended = follow().catch(() => undefined)
  return {
    ended,
    until: (test: (event: AppEvent) => boolean) =>
      new Promise<void>((resolve) => waiting.push({ test, done: resolve })),
  }
}

async function settled(client: AppClient, chatId: string, messageId: string): Promise<void> {
  for (;;) {
    const view = await client.chats.view({ chatId })
    const message = view.messages.find((each) => each.id === messageId)
    if (message !== undefined && message.status !== 'streaming') return
    await pause(100)
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

async function say(
  client: AppClient,
  ledger: Ledger,
  input: { chatId: string; text: string },
): Promise<string> {
  const sent = await client.chat.send(input)
  ledger.messages.set(sent.userMessageId, input.text)
  return sent.replyMessageId
}

/** Cheap settings: a run of seconds instead of a minute; what is tested is order, not learning. */
async function makeCheap(client: AppClient, passes: number): Promise<void> {
  const { training, sampling } = await client.settings.get()
  await client.settings.update({
    hintPolicy: 'ask',
    schedule: 'paused',
    sampling: { ...sampling, maxTokens: 48 },
    training: { ...training, passes, anchorsPerStep: 1, rank: 4, alpha: 8 },
  })
}

/** Brings the app to the moment and lets a random time pass. */
async function reach(
  kind: Kind,
  client: AppClient,
  about: { readonly ledger: Ledger; readonly random: () => number; readonly passes?: number },
): Promise<void> {
  const { ledger, random, passes = 1 } = about
  const events = watch(client, ledger)
  await makeCheap(client, passes)
  const chat = await client.chats.create()
  const streaming = events.until((event) => event.kind === 'token')
  const reply = await say(client, ledger, {
    chatId: chat.id,
    text: 'Say hello to my neighbour Ada.',
  })
  await streaming
  if (kind === 'streaming') return pause(random() * 1200)
  await settled(client, chat.id, reply)
  await say(client, ledger, {
    chatId: chat.id,
    text: 'No, that is too formal. Please write plain sentences.',
  })
  if (kind === 'judging') return pause(random() * 400)
  await pause(1500)
  for (const hint of await client.hints.list()) {
    if (hint.state !== 'proposed') continue
    await client.hints.approve({ hintId: hint.id })
    ledger.approved.add(hint.id)
  }
  const rated = await client.chats.create()
  const second = await say(client, ledger, { chatId: rated.id, text: 'Greet my aunt.' })
  await settled(client, rated.id, second)
  const turn = (await client.chats.view({ chatId: rated.id })).messages.at(-1)?.turn
  if (turn != null) await client.feedback.thumb({ turnId: turn.id, value: 1, text: '' })
  await pause(500)
  const wanted = kind === 'training' ? ['training'] : ['checking', 'swapping']
  const reached = events.until(
    (event) => event.kind === 'learning' && wanted.includes(event.status.phase),
  )
  await client.learning.trainNow()
  await reached
  await pause(random() * (kind === 'training' ? 4000 : 12_000))
}

async function checkAfterRestart(
  client: AppClient,
  ledger: Ledger,
  killedAt: number,
): Promise<void> {
  const texts = new Map<string, string>()
  for (const chat of await client.chats.list()) {
    const view = await client.chats.view({ chatId: chat.id })
    for (const message of view.messages) {
      texts.set(message.id, message.text)
      expect(message.status).not.toBe('streaming')
    }
  }
  for (const [id, text] of ledger.messages) expect(texts.get(id)).toBe(text)
  // Streamed text is saved every 250 ms; what was shown a second before the kill must be there.
  const shown = new Map<string, string>()
  for (const { at, messageId, text } of ledger.streamed) {
    if (at < killedAt - 1000) shown.set(messageId, (shown.get(messageId) ?? '') + text)
  }
  for (const [id, text] of shown) expect(texts.get(id)?.startsWith(text.trimEnd())).toBe(true)
  const hints = await client.hints.list()
  for (const id of ledger.approved) {
    expect(hints.find((hint) => hint.id === id)?.state).toBe('approved')
  }
  const versions = await client.versions.list()
  for (const version of versions) {
    expect(version.state).not.toBe('candidate')
    if (version.state === 'active') expect(existsSync(version.path)).toBe(true)
  }
  const status = await client.learning.status()
  const active = versions.find((version) => version.state === 'active')?.version ?? 0
  expect(status.activeVersion).toBe(active)
  const chat = await client.chats.create()
  const sent = await client.chat.send({ chatId: chat.id, text: 'Hello.' })
  await settled(client, chat.id, sent.replyMessageId)
  const reply = (await client.chats.view({ chatId: chat.id })).messages.at(-1)
  expect(reply?.status).toBe('complete')
  expect(reply?.turn?.version).toBe(active)
}

describe('kill −9', () => {
  for (const [index, kind] of kinds.entries()) {
    it(
      `while ${kind} loses nothing acknowledged`,
      async ({ skip }) => {
        if (modelPath === null) return skip('the default model is not here')
        const stop = new AbortController()
        await using folder = await temporaryFolder()
        for (let round = 0; round < rounds; round += 1) {
          const random = createRandom(100 * index + round + 1)
          const ledger: Ledger = { messages: new Map(), approved: new Set(), streamed: [] }
          const options = { modelPath, dataDir: folder.path, signal: stop.signal, seed: 5 + round }
          const first = await startHost(options)
          const connection = await connect(first.url)
          await reach(kind, connection.client, { ledger, random })
          const killedAt = Date.now()
          process.kill(first.pid, 'SIGKILL')
          await first[Symbol.asyncDispose]()
          await connection[Symbol.asyncDispose]()
          await using second = await startHost(options)
          await using again = await connect(second.url)
          await checkAfterRestart(again.client, ledger, killedAt)
        }
      },
      10 * minute * rounds,
    )
  }
})

/** The trainer's process among the host's children; waits until it is there and is not `former`. */
async function trainerProcess(hostPid: number, former: number | null): Promise<number> {
  for (;;) {
    const children = readFileSync(`/proc/${hostPid}/task/${hostPid}/children`, 'utf8')
    for (const pid of children.split(' ').filter(Boolean).map(Number)) {
      if (pid !== former && commandOf(pid).includes('trainer-process')) return pid
    }
    await pause(50)
  }
}

/** Empty when the process has just gone. */
function commandOf(pid: number): string {
  const path = `/proc/${pid}/cmdline`
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

async function lastRunEnded(client: AppClient) {
  for (;;) {
    const run = (await client.learning.runs())[0]
    if (run !== undefined && run.outcome !== 'running') return run
    await pause(100)
  }
}

it(
  'a trainer in a process of its own that crashes costs its run and nothing else',
  async ({ skip }) => {
    if (modelPath === null) return skip('the default model is not here')
    if (process.platform !== 'linux') return skip("the trainer's process is found in /proc")
    const stop = new AbortController()
    await using folder = await temporaryFolder()
    const options = { modelPath, dataDir: folder.path, signal: stop.signal, seed: 9 }
    await using host = await startHost(options)
    await using connection = await connect(host.url)
    const { client } = connection
    await client.settings.update({ trainerIsolation: 'process' })
    const ledger: Ledger = { messages: new Map(), approved: new Set(), streamed: [] }
    // Long enough that it cannot end by itself before it is killed.
    await reach('training', client, { ledger, random: () => 0, passes: 1000 })
    const trainer = await trainerProcess(host.pid, null)
    process.kill(trainer, 'SIGSEGV')
    const chat = await client.chats.create()
    const sent = await client.chat.send({ chatId: chat.id, text: 'Are you still there?' })
    await settled(client, chat.id, sent.replyMessageId)
    const reply = (await client.chats.view({ chatId: chat.id })).messages.at(-1)
    expect(reply?.status).toBe('complete')
    const run = await lastRunEnded(client)
    expect(run).toMatchObject({ outcome: 'failed', version: null })
    expect(run.sentence).toContain('SIGSEGV')
    await client.learning.trainNow()
    expect(await trainerProcess(host.pid, trainer)).not.toBe(trainer)
  },
  10 * minute,
)
