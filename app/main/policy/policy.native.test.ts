import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeGguf } from '../../../test/support/gguf-file.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openPolicy } from './index.ts'

const embedding = { name: 'token_embd.weight', shape: [32, 4], data: new Float32Array(128) }

async function refusal(fields: Record<string, string>): Promise<unknown> {
  await using folder = await temporaryFolder()
  const modelPath = join(folder.path, 'model with spaces ü.gguf')
  await writeGguf(modelPath, { fields, tensors: [embedding] })
  return openPolicy({ modelPath, device: 'cpu', threads: 1 }).catch((error: unknown) => error)
}

describe('openPolicy', () => {
  it('says that an unknown architecture needs a newer engine', async () => {
    expect(await refusal({ 'general.architecture': 'future9' })).toMatchObject({
      code: 'unsupported',
      message:
        'model with spaces ü.gguf needs a newer engine: this one does not know the architecture "future9"',
    })
  })

  it('says what is missing in a header that names a known architecture', async () => {
    expect(await refusal({ 'general.architecture': 'llama' })).toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('cannot be loaded') as string,
    })
  })

  it('refuses an adapter in place of a model, and no threads', async () => {
    expect(
      await refusal({ 'general.architecture': 'llama', 'general.type': 'adapter' }),
    ).toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('adapter') as string,
    })
    const options = { modelPath: '/nowhere', device: 'cpu', threads: 0 } as const
    await expect(openPolicy(options)).rejects.toMatchObject({ code: 'invalid-input' })
  })
})
