import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { readLeftMarker, removeLeftMarker, runningMarker } from './running-marker.ts'

it('is there while work runs, through several at once, and gone after the last, also a failed one', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'trainer.running')
  const marker = runningMarker(path)
  const outer = Promise.withResolvers<string>()
  const first = marker.around(() => outer.promise)
  await expect(marker.around(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  const left = readLeftMarker(path)
  expect(left?.pid).toBe(process.pid)
  expect(left?.startedAt).toBeGreaterThan(Date.now() - 60_000)
  outer.resolve('done')
  expect(await first).toBe('done')
  expect(readdirSync(folder.path)).toEqual([])
})

it('counts what is damaged as left behind: a crash may have cut it', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'trainer.running')
  expect(readLeftMarker(path)).toBeNull()
  for (const content of ['', '{"pid":', '{"pid":"x"}']) {
    writeFileSync(path, content)
    expect(readLeftMarker(path)?.pid).toBe(0)
  }
  removeLeftMarker(path)
  removeLeftMarker(path)
  expect(readLeftMarker(path)).toBeNull()
})

it('does not let work begin that it could not mark', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'trainer.running')
  mkdirSync(path)
  let began = false
  const work = runningMarker(path).around(async () => {
    began = true
  })
  await expect(work).rejects.toMatchObject({ code: 'unavailable' })
  expect(began).toBe(false)
})
