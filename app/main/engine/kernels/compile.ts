// Compiles native/ with the machine's C compiler on first use. The result is kept in a folder of the user's own,
// under a name that holds the sources' hash, so that a changed source is never served by an old library.
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { access, constants, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Variant {
  readonly name: string
  readonly file: string
  readonly flags: readonly string[]
}

/** Best first. */
export const variantsOf: Readonly<Record<string, readonly Variant[]>> = {
  x64: [
    {
      name: 'AMX-BF16',
      file: 'amx.c',
      flags: ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512bf16', '-mamx-tile', '-mamx-bf16'],
    },
    {
      name: 'AVX512-BF16',
      file: 'avx512bf16.c',
      flags: ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512bf16'],
    },
    { name: 'AVX512', file: 'avx512.c', flags: ['-mavx512f'] },
    { name: 'AVX2', file: 'avx2.c', flags: ['-mavx2', '-mfma'] },
  ],
  arm64: [{ name: 'NEON', file: 'neon.c', flags: [] }],
}

/** Beside app/ in the sources and beside out/ in a build, where it is kept out of the archive. */
export const sourceDir = path
  .join(import.meta.dirname, '../../../../native')
  .replace(/\.asar(?=[\\/])/, '.asar.unpacked')

/** Code for Windows is always position-independent, and compilers there refuse the flag. */
export const commonFlags = [
  ...['-O3', '-shared', '-fvisibility=hidden', '-std=gnu11'],
  ...(process.platform === 'win32' ? [] : ['-fPIC']),
]

/** Exponentials and square roots; elsewhere they are part of the C library. */
export const libraries = process.platform === 'win32' ? [] : ['-lm']

/** A compiler that hangs must not keep the engine from starting. */
const compileTimeoutMs = 60_000

export interface CompileOptions {
  /** One that is given belongs to one Hone and is kept tidy. Default: a shared folder in the user's cache. */
  readonly cacheDir?: string | undefined
  /** Folders searched for a compiler; default: those of PATH. */
  readonly searchPath?: string | undefined
}

export type Compiled =
  | { readonly kind: 'ready'; readonly path: string }
  | { readonly kind: 'failed'; readonly reason: string }

export async function compileVariant(
  variant: Variant,
  options: CompileOptions = {},
): Promise<Compiled> {
  const cacheDir = options.cacheDir ?? defaultCacheDir()
  const target = path.join(cacheDir, `${await sourceHash(variant)}-${libraryName(variant)}`)
  if (await isReadable(target)) return { kind: 'ready', path: target }
  const compilers = await findCompilers(options.searchPath)
  if (compilers.length === 0) {
    return { kind: 'failed', reason: `no C compiler (${compilerNames.join(', ')}) found` }
  }
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  let reason = ''
  for (const compiler of compilers) {
    const failure = await compile(compiler, variant, target)
    if (failure === null) {
      if (options.cacheDir !== undefined) await removeOld(options.cacheDir)
      return { kind: 'ready', path: target }
    }
    reason = failure
  }
  return { kind: 'failed', reason }
}

/** Null, or why it failed. The library appears under its name only when it is complete. */
async function compile(
  compiler: Compiler,
  variant: Variant,
  target: string,
): Promise<string | null> {
  const partial = `${target}.${randomUUID()}`
  const source = path.join(sourceDir, variant.file)
  try {
    const flags = [...compiler.arguments, ...commonFlags, ...variant.flags]
    await run(compiler.path, [...flags, source, '-o', partial, ...libraries], {
      timeout: compileTimeoutMs,
    })
    await rename(partial, target)
    return null
  } catch (error) {
    await rm(partial, { force: true })
    const { stderr = '', message } = error as Error & { stderr?: string }
    const line = stderr.split('\n').find((text) => text.includes('error')) ?? message
    return `${path.basename(compiler.path)} cannot compile ${variant.file}: ${line.trim().slice(0, 200)}`
  }
}

export interface Compiler {
  readonly path: string
  /** What stands before the flags: `zig` is a compiler for C only as `zig cc`. */
  readonly arguments: readonly string[]
}

const compilerNames = ['cc', 'clang', 'gcc', 'zig'] as const

/** The C compilers in the folders of `searchPath` (default: PATH), best first. */
export async function findCompilers(searchPath = process.env['PATH'] ?? ''): Promise<Compiler[]> {
  const found: Compiler[] = []
  for (const name of compilerNames) {
    for (const dir of searchPath.split(path.delimiter).filter((entry) => entry !== '')) {
      const file = path.join(dir, process.platform === 'win32' ? `${name}.exe` : name)
      if (!(await isExecutable(file))) continue
      found.push({ path: file, arguments: name === 'zig' ? ['cc'] : [] })
      break
    }
  }
  return found
}

/** A library's name begins with the hash of its sources; one that is being written has a suffix. */
const libraryFile = /^([0-9a-f]{24})-\w+\.(so|dylib|dll)(\.[0-9a-f-]{36})?$/

/** An unfinished file of the present sources may be another process's work, until it is older than any can be. */
const abandonedMs = 10 * compileTimeoutMs

/** Removes the libraries of other sources. A process that holds one keeps it, but on Windows, which refuses. */
async function removeOld(cacheDir: string): Promise<void> {
  const all = Object.values(variantsOf).flat()
  const current = new Set(await Promise.all(all.map(sourceHash)))
  for (const name of await readdir(cacheDir)) {
    const [, hash, , unfinished] = libraryFile.exec(name) ?? []
    if (hash === undefined) continue
    const file = path.join(cacheDir, name)
    if (current.has(hash) && (unfinished === undefined || !(await isAbandoned(file)))) continue
    await rm(file, { force: true }).catch(ignoreHeld)
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  const age = await stat(file).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    // Finished or removed by its owner in this moment.
    () => 0,
  )
  return age > abandonedMs
}

function ignoreHeld(error: unknown): void {
  if (process.platform !== 'win32') throw error
}

async function sourceHash(variant: Variant): Promise<string> {
  const names = (await readdir(sourceDir)).filter((name) => /\.[ch]$/.test(name)).sort()
  const hash = createHash('sha256').update(JSON.stringify([commonFlags, libraries, variant]))
  for (const name of names) hash.update(name).update(await readFile(path.join(sourceDir, name)))
  return hash.digest('hex').slice(0, 24)
}

function libraryName(variant: Variant): string {
  const extension = { darwin: 'dylib', win32: 'dll' }[process.platform as string] ?? 'so'
  return `${path.basename(variant.file, '.c')}.${extension}`
}

function defaultCacheDir(): string {
  const home = homedir()
  const base =
    process.platform === 'win32'
      ? (process.env['LOCALAPPDATA'] ?? path.join(home, 'AppData/Local'))
      : process.platform === 'darwin'
        ? path.join(home, 'Library/Caches')
        : (process.env['XDG_CACHE_HOME'] ?? path.join(home, '.cache'))
  return path.join(base, 'hone', 'kernels')
}

function isReadable(file: string): Promise<boolean> {
  return isAllowed(file, constants.R_OK)
}

function isExecutable(file: string): Promise<boolean> {
  return isAllowed(file, constants.X_OK)
}

function isAllowed(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  )
}
