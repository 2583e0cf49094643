import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Acknowledged } from './crash-writer.ts'
import { listQuarantine } from './table.ts'
import { testFolder, testStore } from './test-store.ts'
import type { TestStore } from './test-store.ts'

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Lets a process write until it has acknowledged `count` writes, then kills it at once. */
async function writeAndKill(dataDir: string, count: number): Promise<Acknowledged[]> {
  const writer = new URL('./crash-writer.ts', import.meta.url).href
  const script = `
    import { writeForEver } from ${JSON.stringify(writer)}
    writeForEver(${JSON.stringify(dataDir)})`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const seen: Acknowledged[] = []
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may be cut by the kill: that write was not acknowledged.
    if (line.endsWith('}')) seen.push(JSON.parse(line) as Acknowledged)
    if (seen.length === count) child.kill('SIGKILL')
  }
  await closed
  expect(child.signalCode).toBe('SIGKILL')
  expect(seen.length).toBeGreaterThanOrEqual(count)
  return seen
}

function expectKept({ store }: TestStore, what: Acknowledged): void {
  switch (what.kind) {
    case 'message':
      return expect(store.message(what.id)?.text.startsWith(what.text)).toBe(true)
    case 'pair':
      return expect(what.ids.map((id) => store.message(id)?.id)).toEqual(what.ids)
    case 'hint':
      expect(store.turn(what.turnId)?.logProbs).toHaveLength(3)
      return expect(store.hint(what.id)).toMatchObject({ state: 'vetoed', decidedBy: 'user' })
    case 'version':
      return expect(store.version(what.version)?.state).toMatch(/^(active|retired)$/)
  }
}

test('after kill -9 at random moments every acknowledged write is there and none is halved', async () => {
  using folder = testFolder()
  const random = numbersFrom(7)
  const acknowledged: Acknowledged[] = []
  for (let round = 0; round < 10; round += 1) {
    acknowledged.push(...(await writeAndKill(folder.dir, 1 + Math.floor(random() * 60))))
    using env = testStore(folder)
    env.store.closeInterrupted()
    for (const what of acknowledged) expectKept(env, what)
    const texts = env.store.chats().flatMap(({ id }) => env.store.messages(id))
    const counted = (word: string) => texts.filter(({ text }) => text.startsWith(word)).length
    expect(counted('first')).toBe(counted('second'))
    expect(texts.filter(({ status }) => status === 'streaming')).toEqual([])
    const versions = acknowledged.flatMap((what) => (what.kind === 'version' ? [what.version] : []))
    expect(env.store.activeVersion()).toBeGreaterThanOrEqual(Math.max(0, ...versions))
    expect(listQuarantine(env.connection)).toEqual([])
  }
  expect(new Set(acknowledged.map(({ kind }) => kind)).size).toBe(4)
}, 120_000)
