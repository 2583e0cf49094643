import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ggufBytes } from '../../../test/support/gguf-file.ts'
import { checkGguf } from './gguf-check.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hone-gguf-'))
})
afterAll(() => rm(folder, { recursive: true }))

const good = ggufBytes({
  fields: { 'general.architecture': 'llama', 'general.name': 'N/A' },
  tensors: [{ name: 'token_embd.weight', shape: [32, 4], data: new Float32Array(128) }],
})

async function file(name: string, bytes: Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

function changed(change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(good)
  change(bytes)
  return bytes
}

describe('checkGguf', () => {
  it('reads what a file is', async () => {
    const path = await file('good.gguf', good)
    await expect(checkGguf(path)).resolves.toEqual({
      sizeBytes: good.length,
      architecture: 'llama',
      kind: 'model',
      tensors: new Map([['token_embd.weight', [32, 4]]]),
    })
  })

  it('reads a file through a link, and one whose name has spaces and other letters', async () => {
    const path = await file('ein Modell 模型.gguf', good)
    await symlink(path, join(folder, 'link.gguf'))
    await expect(checkGguf(join(folder, 'link.gguf'))).resolves.toMatchObject({ kind: 'model' })
  })

  it('reads a header that is longer than the first read', async () => {
    const fields = { 'general.architecture': 'llama', 'x.long': 'x'.repeat(3_000_000) }
    const path = await file('long.gguf', ggufBytes({ fields, tensors: [] }))
    await expect(checkGguf(path)).resolves.toMatchObject({ architecture: 'llama' })
  })

  it.each([
    { name: 'zero bytes', bytes: Buffer.alloc(0), code: 'corrupt', says: /is empty \(0 bytes\)/ },
    {
      name: 'other',
      bytes: Buffer.from('PK'.padEnd(64)),
      code: 'corrupt',
      says: /not a GGUF file/,
    },
    { name: 'only the magic', bytes: Buffer.from('GGUF'), code: 'corrupt', says: /cut off/ },
    {
      name: 'half header',
      bytes: good.subarray(0, 60),
      code: 'corrupt',
      says: /inside its header/,
    },
    { name: 'half data', bytes: good.subarray(0, -300), code: 'corrupt', says: /need \d+ bytes/ },
    {
      name: 'a newer version',
      bytes: changed((b) => b.writeUInt32LE(9, 4)),
      code: 'unsupported',
      says: /GGUF version 9/,
    },
    {
      name: 'big-endian',
      bytes: changed((b) => b.writeUInt32BE(3, 4)),
      code: 'unsupported',
      says: /big-endian/,
    },
    {
      name: 'a huge number of tensors',
      bytes: changed((b) => b.writeBigUInt64LE(1n << 60n, 8)),
      code: 'corrupt',
      says: /claims \d+ tensors/,
    },
    {
      name: 'a string longer than the file',
      bytes: changed((b) => b.writeBigUInt64LE(1n << 50n, 24)),
      code: 'corrupt',
      says: /inside its header/,
    },
  ])('refuses $name', async ({ name, bytes, code, says }) => {
    const path = await file(`${name}.gguf`, bytes)
    await expect(checkGguf(path)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(says) as string,
    })
  })

  it('refuses a folder, a missing file and a name that is too long', async () => {
    await mkdir(join(folder, 'model.gguf'))
    await expect(checkGguf(join(folder, 'model.gguf'))).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('is a folder') as string,
    })
    await expect(checkGguf(join(folder, 'absent.gguf'))).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(checkGguf(join(folder, 'x'.repeat(300)))).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('too long') as string,
    })
  })

  it('names the missing part of a split model', async () => {
    const bytes = ggufBytes({
      fields: { 'general.architecture': 'llama', 'split.count': { uint32: 2 } },
      tensors: [],
    })
    const path = await file('big-00001-of-00002.gguf', bytes)
    await expect(checkGguf(path)).rejects.toMatchObject({
      code: 'not-found',
      message: 'part 2 of 2 is missing: big-00002-of-00002.gguf',
    })
  })
})
