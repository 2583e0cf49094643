import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeRandomAdapter } from '../../../test/support/gguf-file.ts'
import { defaultModelPath } from '../../../test/support/model.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import {
  openPolicy,
  type AdapterFile,
  type GenerateRequest,
  type Generation,
  type Policy,
} from './index.ts'

const modelPath = defaultModelPath()
const base: AdapterFile = { version: 0, path: null }
/** Long enough for several chunks of prefill. */
const question = `${'The keeper climbed the stairs and lit the lamp. '.repeat(15)}What happened next?`

describe.skipIf(modelPath === null)(
  'swapping adapters on the default model (needs its file)',
  () => {
    let folder: TemporaryFolder
    let one: AdapterFile
    let two: AdapterFile
    beforeAll(async () => {
      folder = await temporaryFolder()
      one = await adapter(1)
      two = await adapter(2)
    })
    afterAll(() => folder[Symbol.asyncDispose]())

    async function adapter(version: number): Promise<AdapterFile> {
      const path = join(folder.path, `v${version}.gguf`)
      await writeRandomAdapter(path, {
        seed: version * 7919,
        architecture: 'llama',
        rank: 4,
        scale: 0.5,
        weights: Object.fromEntries(
          Array.from({ length: 30 }, (_, layer) => [`blk.${layer}.attn_q`, [576, 576]]),
        ),
      })
      return { version, path }
    }

    const open = (): Promise<Policy> =>
      openPolicy({ modelPath: modelPath ?? '', device: 'cpu', threads: 1, contextSize: 768 })

    function ask(policy: Policy, more: Partial<GenerateRequest> = {}): Promise<Generation> {
      return policy.generate({
        lane: 'serve',
        promptIds: policy.render([{ role: 'user', text: question }], { reserve: 100 }).ids,
        adapter: 'active',
        temperature: 1,
        topP: 1,
        topK: 0,
        minP: 0,
        seed: 5,
        maxTokens: 30,
        ...more,
      })
    }

    async function coldReply(version: AdapterFile): Promise<Generation> {
      await using policy = await open()
      return await ask(policy, { adapter: version, lane: 'practise' })
    }

    it('serves each version as if it had always been alone, with the same long prompt', async () => {
      const cold = [await coldReply(base), await coldReply(one), await coldReply(two)]
      const [bare, first, second] = cold.map(({ logProbs }) => logProbs)
      expect(first).not.toEqual(bare)
      expect(second).not.toEqual(first)

      await using policy = await open()
      const warm = [await ask(policy)]
      for (const version of [one, two]) {
        // The lane that only reuses whole chunks, so that equal means equal in every bit.
        await ask(policy, { adapter: version, lane: 'evaluate', maxTokens: 3, seed: 9 })
        warm.push(await ask(policy, { adapter: version, lane: 'evaluate' }))
      }
      expect(warm.map(({ ids, logProbs }) => ({ ids, logProbs }))).toEqual(
        cold.map(({ ids, logProbs }) => ({ ids, logProbs })),
      )
      expect(warm.map(({ version }) => version)).toEqual([0, 1, 2])
    })

    it('lets a running reply finish on its version and starts new ones on the next', async () => {
      const alone = await coldReply(base)
      await using policy = await open()
      const swapped = Promise.withResolvers<Generation>()
      const order: string[] = []
      let tokens = 0
      const running = ask(policy, {
        onToken: () => {
          if (++tokens === 3) swap().then(swapped.resolve, swapped.reject)
        },
      })
      async function swap(): Promise<Generation> {
        await policy.prepare(one)
        const before = policy.active().version
        await policy.activate(one)
        order.push(`swap ${before} to ${policy.active().version}`)
        return ask(policy, { maxTokens: 2 })
      }
      const [old, next] = await Promise.all([
        running.finally(() => order.push('old reply ended')),
        swapped.promise,
      ])
      expect(order).toEqual(['old reply ended', 'swap 0 to 1'])
      expect([old.version, next.version]).toEqual([0, 1])
      expect(old.ids).toEqual(alone.ids)
    })

    it('refuses a version that was not prepared, a second file for one version, and freeing the live one', async () => {
      await using policy = await open()
      await expect(policy.activate(one)).rejects.toMatchObject({ code: 'conflict' })
      await policy.prepare(one)
      await policy.activate(one)
      await expect(policy.release(1)).rejects.toMatchObject({ code: 'conflict' })
      const otherFile = { version: 1, path: two.path }
      await expect(ask(policy, { adapter: otherFile })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('version 1 is loaded from') as string,
      })
    })

    it('refuses a bad adapter with the reason and goes on serving', async () => {
      await using policy = await open()
      const path = (name: string): string => join(folder.path, `${name}.gguf`)
      const shape = { seed: 1, rank: 2, scale: 1 }
      await writeRandomAdapter(path('shape'), {
        ...shape,
        architecture: 'llama',
        weights: { 'blk.0.attn_q': [64, 64] },
      })
      await writeRandomAdapter(path('name'), {
        ...shape,
        architecture: 'llama',
        weights: { 'blk.99.attn_q': [576, 576] },
      })
      await writeRandomAdapter(path('other'), {
        ...shape,
        architecture: 'qwen2',
        weights: { 'blk.0.attn_q': [576, 576] },
      })
      await writeFile(path('text'), 'not an adapter')
      const refusal = (name: string): Promise<unknown> =>
        policy.prepare({ version: 9, path: path(name) }).catch((error: unknown) => error)
      expect(await refusal('shape')).toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining(
          'expected 576 × 576 in blk.0.attn_q.weight, found 64 × 64',
        ) as string,
      })
      expect(await refusal('name')).toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining('the model has no blk.99.attn_q.weight') as string,
      })
      expect(await refusal('other')).toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining('qwen2') as string,
      })
      expect(await refusal('text')).toMatchObject({ code: 'corrupt' })
      expect(await refusal('missing')).toMatchObject({ code: 'not-found' })
      expect((await ask(policy, { maxTokens: 2 })).version).toBe(0)
    })
  },
)
