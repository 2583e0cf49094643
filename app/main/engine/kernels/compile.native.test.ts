// The cache of compiled kernels: which files a compilation leaves, and which compilers are used how.
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { compileVariant, findCompilers, variantsOf } from './compile.ts'

// The last one is the plainest: any compiler of this architecture takes its flags.
const variant = variantsOf[process.arch]?.at(-1)
const [compiler] = await findCompilers()
const missing =
  variant === undefined ? `there are no kernels for ${process.arch}` : 'no C compiler is installed'

const unfinished = '.0f8fad5b-d9cb-469f-a165-70867728950e'

it('removes the libraries of other sources, and nothing else, after it has compiled', async ({
  skip,
}) => {
  if (variant === undefined || compiler === undefined) return skip(missing)
  await using folder = await temporaryFolder()
  const cacheDir = folder.path
  const old = `${'0'.repeat(24)}-avx2.so`
  for (const name of [old, old + unfinished, 'notes.txt', `${'0'.repeat(20)}-avx2.so`]) {
    await writeFile(path.join(cacheDir, name), 'x')
  }
  const compiled = await compileVariant(variant, { cacheDir })
  if (compiled.kind === 'failed') throw new Error(compiled.reason)
  const made = path.basename(compiled.path)
  expect((await readdir(cacheDir)).sort()).toEqual(
    ['notes.txt', `${'0'.repeat(20)}-avx2.so`, made].sort(),
  )
  // What another process may be writing stays; what nobody can still be writing goes.
  const [young, abandoned] = [made + unfinished, made + unfinished.replace('0f', '1f')]
  for (const name of [young, abandoned]) await writeFile(path.join(cacheDir, name), 'x')
  const yesterday = new Date(Date.now() - 86_400_000)
  await utimes(path.join(cacheDir, abandoned), yesterday, yesterday)
  const other = variantsOf[process.arch]?.find((each) => each !== variant)
  if (other === undefined) return
  const second = await compileVariant(other, { cacheDir })
  if (second.kind === 'failed') return skip(`only one variant compiles: ${second.reason}`)
  const left = await readdir(cacheDir)
  expect(left).toContain(young)
  expect(left).toContain(made)
  expect(left).not.toContain(abandoned)
})

it('uses zig as `zig cc` where there is no other compiler', async ({ skip }) => {
  if (variant === undefined || compiler === undefined) return skip(missing)
  if (process.platform === 'win32') return skip('the stand-in for zig is a shell script')
  await using folder = await temporaryFolder()
  const [bin, cacheDir] = [path.join(folder.path, 'bin'), path.join(folder.path, 'kernels')]
  await mkdir(bin)
  const log = path.join(folder.path, 'arguments')
  const zig = path.join(bin, 'zig')
  // Stands for zig: notes its first argument and hands the rest to the compiler that is here.
  await writeFile(zig, `#!/bin/sh\necho "$1" > ${log}\nshift\nexec ${compiler.path} "$@"\n`)
  await chmod(zig, 0o755)
  expect(await findCompilers(bin)).toEqual([{ path: zig, arguments: ['cc'] }])
  expect(await compileVariant(variant, { cacheDir, searchPath: bin })).toMatchObject({
    kind: 'ready',
  })
  expect(await readFile(log, 'utf8')).toBe('cc\n')
})

it('leaves the shared folder of the user alone: other versions of Hone use it too', async ({
  skip,
}) => {
  if (variant === undefined || compiler === undefined) return skip(missing)
  if (process.platform !== 'linux') return skip('only Linux takes the folder from a variable')
  await using folder = await temporaryFolder()
  const old = path.join(folder.path, 'hone/kernels', `${'0'.repeat(24)}-avx2.so`)
  await mkdir(path.dirname(old), { recursive: true })
  await writeFile(old, 'x')
  const module = path.join(import.meta.dirname, 'compile.ts')
  const script = `
    import { compileVariant, variantsOf } from ${JSON.stringify(module)}
    console.log((await compileVariant(variantsOf[process.arch].at(-1))).kind)`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, XDG_CACHE_HOME: folder.path },
    encoding: 'utf8',
  })
  expect(said.trim()).toBe('ready')
  expect(await readdir(path.dirname(old))).toHaveLength(2)
})
