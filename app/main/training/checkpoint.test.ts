import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  createReferenceModel,
  writeReferenceAdapter,
} from '../../../test/support/reference-model.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { adamw } from '../engine/index.ts'
import { joinState, readState, writeCheckpoint } from './checkpoint.ts'

const model = createReferenceModel({ vocabulary: 12 })

async function written(folder: string) {
  const files = { adapterPath: join(folder, 'adapter.gguf'), statePath: join(folder, 'state') }
  const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
  const gradients = model.createGradients(adapter)
  gradients.tensors[0]?.b.fill(0.5)
  const optimiser = adamw(adapter)
  optimiser.step(gradients, { learningRate: 0.01 })
  const write = (path: string) => writeReferenceAdapter(path, adapter)
  await writeCheckpoint(files, { state: optimiser.serialise(), writeAdapter: write })
  return { files, adapter, optimiser }
}

it('reads back what was written and leaves no temporary file', async () => {
  await using folder = await temporaryFolder()
  const { files, adapter, optimiser } = await written(folder.path)
  const read = await readState(files.statePath, adapter)
  expect(read.optimiser.steps).toBe(1)
  expect(read.optimiser.serialise()).toEqual(optimiser.serialise())
  expect(read.valueHead).toBeNull()
  expect((await readdir(folder.path)).sort()).toEqual(['adapter.gguf', 'state'])
})

it('keeps a value head beside the optimiser state', async () => {
  await using folder = await temporaryFolder()
  const { files, adapter, optimiser } = await written(folder.path)
  const valueHead = Uint8Array.of(1, 2, 3, 4, 5)
  const state = joinState(optimiser.serialise(), valueHead)
  await writeCheckpoint(files, { state, writeAdapter: () => Promise.resolve() })
  const read = await readState(files.statePath, adapter)
  expect(read.optimiser.serialise()).toEqual(optimiser.serialise())
  expect([...(read.valueHead ?? [])]).toEqual([...valueHead])
  const damaged = Buffer.from(state)
  damaged.writeUInt32LE(state.length, state.length - 8)
  await writeFile(files.statePath, damaged)
  await expect(readState(files.statePath, adapter)).rejects.toMatchObject({ code: 'corrupt' })
})

it('leaves the earlier files alone when the adapter cannot be written', async () => {
  await using folder = await temporaryFolder()
  const { files, adapter } = await written(folder.path)
  const before = await Promise.all([files.adapterPath, files.statePath].map((p) => readFile(p)))
  const failing = writeCheckpoint(files, {
    state: adamw(adapter).serialise(),
    writeAdapter: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
  })
  await expect(failing).rejects.toMatchObject({ code: 'disk-full' })
  const after = await Promise.all([files.adapterPath, files.statePath].map((p) => readFile(p)))
  expect(after).toEqual(before)
  expect(await readdir(folder.path)).toHaveLength(2)
})

it('refuses a damaged state, one of another rank, and names a missing file', async () => {
  await using folder = await temporaryFolder()
  const { files, adapter } = await written(folder.path)
  const other = model.createAdapter({ rank: 3, alpha: 4, seed: 1 })
  const refusal = (code: string) => expect.objectContaining({ code })
  await expect(readState(files.statePath, other)).rejects.toEqual(refusal('corrupt'))
  const missing = readState(join(folder.path, 'none'), adapter)
  await expect(missing).rejects.toEqual(refusal('not-found'))
  const bytes = await readFile(files.statePath)
  await writeFile(files.statePath, bytes.subarray(0, bytes.length - 1))
  await expect(readState(files.statePath, adapter)).rejects.toEqual(refusal('corrupt'))
})
