import { join } from 'node:path'
import type { Token } from 'node-llama-cpp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeRandomAdapter } from '../../../test/support/gguf-file.ts'
import { defaultModelPath } from '../../../test/support/model.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { loadedAdapters } from './adapters.ts'
import { Contexts } from './contexts.ts'
import { createTurnQueue } from './lanes.ts'
import { openNative, type Native } from './native.ts'
import { prefill } from './prefill.ts'
import { createChatTemplate } from './template.ts'
import { textOfIds } from './vocabulary.ts'

const modelPath = defaultModelPath()

const texts = [
  'Hi there',
  '  two spaces before, one after ',
  '\n\nstarts with new lines\n',
  'Numbers 12345 and 3.14; tabs\tand\r\nlines',
  'Ends with a letter then newline\n\n\n',
  '你好，世界。これはテストです。',
  'Family: 👨‍👩‍👧‍👦, flags: 🇨🇭🇩🇪, accents: naïve café',
  'def f(x):\n    return {"a": [1, 2, 3]}\n',
  "it's they're we'll I'd",
  'user',
  '.',
]

describe.skipIf(modelPath === null)('the default model (needs its file)', () => {
  let native: Native
  beforeAll(async () => {
    native = await openNative({ modelPath: modelPath ?? '', device: 'cpu', threads: 1 })
  })
  afterAll(() => native.llama.dispose())

  it.each(texts)('tokenises a chat about %j as llama.cpp tokenises the joint text', (text) => {
    const { model, vocabulary } = native
    const template = createChatTemplate(
      model.fileInfo.metadata.tokenizer.chat_template ?? null,
      vocabulary,
    )
    const joint =
      `<|im_start|>system\n${text}<|im_end|>\n<|im_start|>user\n${text}<|im_end|>\n` +
      `<|im_start|>assistant\n${text}<|im_end|>\n<|im_start|>user\n${text}<|im_end|>\n` +
      `<|im_start|>assistant\n${text}`
    const roles = ['system', 'user', 'assistant', 'user'] as const
    const ids = template.ids(
      roles.map((role) => ({ role, text })),
      text,
    )
    expect(ids).toEqual(model.tokenize(joint, true))
  })

  it.each(texts)('gives the letters of %j whole, one id at a time', (text) => {
    const { vocabulary } = native
    const stream = vocabulary.textStream()
    const parts = vocabulary.plainIds(text).map((id) => stream.push(id))
    expect(parts.join('')).toBe(text)
    expect(parts.filter((part) => part.includes('\uFFFD'))).toEqual([])
    expect(textOfIds(vocabulary, vocabulary.plainIds(text))).toBe(text)
  })

  it('leaves out a character that never became complete', () => {
    const { vocabulary } = native
    const ids = vocabulary.plainIds('ok 😀')
    expect(textOfIds(vocabulary, ids.slice(0, -1))).toBe('ok ')
    expect(vocabulary.tokenText(native.model.tokens.eos as Token)).toBe('<|im_end|>')
  })

  it('frees the adapter of every version that left', async () => {
    await using folder = await temporaryFolder()
    const { model, summary, vocabulary } = native
    const contexts = new Contexts({ model, summary, contextSize: 256, idleMs: 60_000 })
    const settings = { lane: 'serve', steps: createTurnQueue() } as const
    const held: (number | null)[] = []
    for (let version = 1; version <= 12; version++) {
      const path = join(folder.path, `v${version}.gguf`)
      const weights = { 'blk.0.attn_q': [576, 576] } as const
      const shape = { seed: version, architecture: 'llama', rank: 2, scale: 0.1, weights }
      await writeRandomAdapter(path, shape)
      await contexts.turn({ adapter: () => ({ version, path }), lane: 'serve' }, (slot) =>
        prefill(slot, vocabulary.plainIds('a b c'), settings),
      )
      await contexts.retire(version - 1)
      held.push(loadedAdapters(model))
    }
    expect(held).toEqual(held.map(() => 1))
    await contexts.dispose()
    expect(loadedAdapters(model)).toBe(0)
  })
})
