import { createHash, randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serveFile, type Behaviour } from '../../../test/support/file-server.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { download, type Patience } from './download.ts'

const content = randomBytes(300_000)
const sha256 = createHash('sha256').update(content).digest('hex')
const hurried: Patience = { retries: 3, pauseMs: 1, stallMs: 5_000 }

interface Trial {
  readonly behaviours?: readonly Behaviour[]
  /** Bytes that an earlier, interrupted download left. */
  readonly part?: Buffer
  readonly sha256?: string
  readonly patience?: Partial<Patience>
  readonly sizeBytes?: number
  readonly prepare?: (path: string) => void
}

async function trial(options: Trial) {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content, options.behaviours)
  const isPrepared = options.part !== undefined || options.prepare !== undefined
  const path = isPrepared ? flat(folder.path) : join(folder.path, 'models', 'model.gguf')
  options.prepare?.(folder.path)
  if (options.part !== undefined) writePart(folder.path, options.part)
  const failure = await download({
    url: server.url,
    path,
    sizeBytes: options.sizeBytes ?? content.length,
    sha256: options.sha256 ?? sha256,
    patience: { ...hurried, ...options.patience },
    onBytes: server.acknowledge,
  }).then(
    () => null,
    (error: unknown) => error,
  )
  return {
    failure,
    ranges: server.ranges,
    file: existsSync(path) ? readFileSync(path) : null,
    part: failure !== null && existsSync(`${path}.part`) ? readPart(path) : null,
  }
}

const flat = (folder: string): string => join(folder, 'model.gguf')
const readPart = (path: string): number => lstatSync(`${path}.part`).size
const writePart = (folder: string, part: Buffer): void => {
  writeFileSync(`${flat(folder)}.part`, part)
}

test('a file arrives whole in a folder that did not exist', async () => {
  const { failure, file } = await trial({})
  expect(failure).toBeNull()
  expect(file?.equals(content)).toBe(true)
})

test('an interrupted download goes on where it stopped', async () => {
  const { file, ranges } = await trial({ part: content.subarray(0, 120_000) })
  expect(ranges).toEqual(['bytes=120000-'])
  expect(file?.equals(content)).toBe(true)
})

test('a part that is already whole is not asked for again', async () => {
  const { file, ranges } = await trial({ part: content })
  expect(ranges).toEqual([])
  expect(file?.equals(content)).toBe(true)
})

test('a part longer than the file is thrown away', async () => {
  const { file, ranges } = await trial({ part: Buffer.concat([content, content]) })
  expect(ranges).toEqual([null])
  expect(file?.equals(content)).toBe(true)
})

test('a cut connection is taken up again from the bytes that came', async () => {
  const { file, ranges } = await trial({
    behaviours: [{ kind: 'cut', afterBytes: 100_000 }, { kind: 'serve' }],
  })
  expect(ranges).toEqual([null, 'bytes=100000-'])
  expect(file?.equals(content)).toBe(true)
})

test('a connection that is cut every time ends as a network error and keeps the part', async () => {
  const { failure, part, file } = await trial({
    behaviours: [{ kind: 'cut', afterBytes: 10_000 }],
    patience: { retries: 1 },
  })
  expect(failure).toMatchObject({
    code: 'network',
    message: expect.stringContaining('cut') as string,
  })
  expect(part).toBe(20_000)
  expect(file).toBeNull()
})

test('a server without range sends the file from its start and the result is right', async () => {
  const { file, failure } = await trial({
    part: content.subarray(0, 50_000),
    behaviours: [{ kind: 'serve', ranges: false }],
  })
  expect(failure).toBeNull()
  expect(file?.equals(content)).toBe(true)
})

test('a server that says nothing for too long is a timeout', async () => {
  const { failure } = await trial({
    behaviours: [{ kind: 'stall', afterBytes: 1000 }],
    patience: { retries: 0, stallMs: 50 },
  })
  expect(failure).toMatchObject({ code: 'timeout' })
})

test.each([
  [401, 'refused', 'wants a login'],
  [403, 'refused', 'refuses'],
  [404, 'not-found', 'does not have'],
  [429, 'busy', 'come back later'],
  [500, 'network', 'could not answer'],
])('HTTP %i is %s and says so in words', async (status, code, words) => {
  const { failure, ranges } = await trial({
    behaviours: [{ kind: 'status', status }],
    patience: { retries: 1 },
  })
  expect(failure).toMatchObject({ code, message: expect.stringContaining(words) as string })
  expect(ranges).toHaveLength(status === 429 || status === 500 ? 2 : 1)
})

test('a server that was busy once is asked again', async () => {
  const { file } = await trial({ behaviours: [{ kind: 'status', status: 429 }, { kind: 'serve' }] })
  expect(file?.equals(content)).toBe(true)
})

test('a wrong hash names both hashes and leaves no file behind', async () => {
  const expected = '0'.repeat(64)
  const { failure, file, part } = await trial({ sha256: expected })
  expect(failure).toMatchObject({ code: 'corrupt', data: { found: sha256, expected } })
  expect(file).toBeNull()
  expect(part).toBeNull()
})

test('a file of another size is refused before its content is fetched', async () => {
  const { failure, file } = await trial({ sizeBytes: content.length + 1 })
  expect(failure).toMatchObject({
    code: 'corrupt',
    message: expect.stringContaining(`offers ${content.length} bytes`) as string,
  })
  expect(file).toBeNull()
})

test('more than the disk holds is refused with the figures', async () => {
  const { failure, ranges } = await trial({ sizeBytes: 2 ** 60 })
  expect(failure).toMatchObject({ code: 'disk-full' })
  expect(ranges).toEqual([])
})

test.skipIf(!existsSync('/dev/full'))('a disk that fills up during the download', async () => {
  const prepare = (folder: string): void => {
    symlinkSync('/dev/full', `${flat(folder)}.part`)
  }
  const { failure } = await trial({ prepare, patience: { retries: 0 } })
  expect(failure).toMatchObject({ code: 'disk-full' })
})

test('without a network the address is named and nothing is tried twice', async () => {
  await using folder = await temporaryFolder()
  const closed = await serveFile(content)
  await closed[Symbol.asyncDispose]()
  const path = join(folder.path, 'model.gguf')
  const run = download({ url: closed.url, path, sizeBytes: 10, sha256, patience: hurried })
  await expect(run).rejects.toMatchObject({
    code: 'network',
    message: expect.stringContaining('127.0.0.1') as string,
  })
})

test('a stop by the user is cancelled, not a failure, and keeps the part', async () => {
  await using folder = await temporaryFolder()
  await using server = await serveFile(content, [{ kind: 'stall', afterBytes: 20_000 }])
  const path = join(folder.path, 'model.gguf')
  const controller = new AbortController()
  const run = download({
    ...{ url: server.url, path, sizeBytes: content.length, sha256, patience: hurried },
    signal: controller.signal,
    onBytes: () => {
      controller.abort()
    },
  })
  await expect(run).rejects.toMatchObject({ code: 'cancelled' })
  expect(readFileSync(`${path}.part`).length).toBeGreaterThan(0)
})
