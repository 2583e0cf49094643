import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../test/support/temporary-folder.ts'
import { makeEnvironment, openPeer } from './peer.ts'

test('without python the reason names what was tried', async () => {
  await using folder = await temporaryFolder()
  const made = await makeEnvironment({
    ...{ folder: join(folder.path, 'peer'), requirements: ['torch==1'], python: 'no-such-python' },
  })
  expect(made).toMatchObject({ kind: 'skipped', reason: /no environment .*no-such-python/ })
})

test('an environment with the same list is used again, one with another is not', async () => {
  await using folder = await temporaryFolder()
  const bin = join(folder.path, process.platform === 'win32' ? 'Scripts' : 'bin')
  const python = join(bin, process.platform === 'win32' ? 'python.exe' : 'python')
  mkdirSync(bin)
  writeFileSync(python, '')
  writeFileSync(join(folder.path, 'installed.txt'), 'a==1\nb==2')
  const options = { folder: folder.path, python: 'no-such-python' }
  const same = await makeEnvironment({ ...options, requirements: ['a==1', 'b==2'] })
  expect(same).toEqual({ kind: 'ready', python })
  const other = await makeEnvironment({ ...options, requirements: ['a==1', 'b==3'] })
  expect(other.kind).toBe('skipped')
})

test('an interpreter that was asked for and is not there is an error', async () => {
  await expect(openPeer('/no/such/python')).rejects.toMatchObject({
    code: 'unavailable',
    message: /--python \/no\/such\/python: /,
  })
})
