import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../test/support/temporary-folder.ts'
import { findCompilers } from '../app/main/engine/index.ts'
import { runCommand } from './support/command.ts'

async function doctor(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Map<string, string>> {
  const args = ['scripts/hone.ts', 'doctor', '--data-dir', dataDir]
  const { code, output } = await runCommand(process.execPath, args, { env })
  expect(code, output).toBe(0)
  const lines = output.trimEnd().split('\n')
  return new Map(lines.map((line) => [line.slice(0, 14).trim(), line.slice(15)]))
}

it('names the compiler and the kernels, compiles them once and says when', async ({ skip }) => {
  if ((await findCompilers()).length === 0) return skip('no C compiler is installed')
  await using folder = await temporaryFolder()
  const first = await doctor(folder.path)
  expect(first.get('C compiler')).toMatch(/(cc|clang|gcc|zig).* \(.+\)$/)
  expect(first.get('training')).toMatch(/^Hone's own \S+ kernels on .+ \(compiled now, in \d/)
  expect(first.get('GPU')).toMatch(/training uses it$|^none /)
  const kernels = await readdir(join(folder.path, 'kernels'))
  expect(kernels.length).toBeGreaterThan(0)
  const second = await doctor(folder.path)
  expect(second.get('training')).toMatch(/\(compiled before, open in \d/)
  expect(await readdir(join(folder.path, 'kernels'))).toEqual(kernels)
})

it('says of a machine without a compiler why training is slower, and by how much', async ({
  skip,
}) => {
  if (process.arch !== 'x64') return skip('the loss has been measured on x64 alone')
  await using folder = await temporaryFolder()
  const lines = await doctor(folder.path, { PATH: folder.path })
  expect(lines.get('C compiler')).toBe('none of cc, clang, gcc, zig is in the PATH')
  expect(lines.get('training')).toMatch(
    /^ggml alone on .+: no C compiler \(cc, clang, gcc, zig\) found; training takes about [\d. to]+ times as long/,
  )
})
