// What other compilers make of native/, and what its operators do without ggml: emulated on ARM, before guard pages,
// under sanitizers. test/support/kernels/driver.c runs the cases there. A part without its tool says so.
import { execFile, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { access, constants, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KernelCase } from '../../../../test/support/kernels/bench.ts'
import { kernelCases } from '../../../../test/support/kernels/cases.ts'
import { derived, deviationOf, expectedOf } from '../../../../test/support/kernels/measure.ts'
import { record } from '../../../../test/support/kernels/recording.ts'
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { commonFlags, libraries, sourceDir, variantsOf, type Variant } from './compile.ts'

const run = promisify(execFile)
const variants = variantsOf[process.arch] ?? []
const neon = variantsOf['arm64']?.[0]
const strict = ['-Wall', '-Wextra', '-Werror']
const driver = path.resolve(import.meta.dirname, '../../../../test/support/kernels/driver.c')
const unsupported = 2

let folder: TemporaryFolder

beforeAll(async () => {
  folder = await temporaryFolder()
})

afterAll(async () => {
  await folder[Symbol.asyncDispose]()
})

/** The place of a program, or null. */
async function programOf(name: string): Promise<string | null> {
  for (const dir of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(dir, name)
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (dir !== '' && isThere) return file
  }
  return null
}

/** Throws with what the compiler says. */
async function compile(compiler: string, flags: readonly string[], name: string): Promise<string> {
  const output = path.join(folder.path, name)
  await run(compiler, [...flags, '-o', output, ...libraries])
  return output
}

const asProgram = (variant: Variant): string[] => [
  ...commonFlags.filter((flag) => flag !== '-shared'),
  ...variant.flags,
  `-DVARIANT="${path.join(sourceDir, variant.file)}"`,
  driver,
]

describe.each(['gcc', 'clang'])('%s', (name) => {
  it.for(variants)('takes the $name kernels without a warning', async (variant, { skip }) => {
    const compiler = await programOf(name)
    if (compiler === null) return skip(`${name} is not installed`)
    const source = path.join(sourceDir, variant.file)
    await compile(compiler, [...commonFlags, ...variant.flags, ...strict, source], 'library')
  })
})

const all = Object.values(kernelCases).flat()
const recording = record(all.map((test) => ({ test, values: test.values })))

function start(command: readonly string[], input: Buffer): SpawnSyncReturns<Buffer> {
  const [program = '', ...rest] = command
  // Where processes are traced, looking for leaks ends the program; the driver frees what it takes.
  const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' }
  return spawnSync(program, rest, { input, env, maxBuffer: 2 ** 30 })
}

const f32Bound = 1e-5

/** Every case on two threads against plain arithmetic; returns what was written, null on a lesser processor. */
function expectRight(command: readonly string[], rounds: boolean): Buffer | null {
  const { status, signal, stdout, stderr } = start([...command, '2'], recording.input)
  if (status === unsupported) return null
  expect({ status, signal, said: stderr.toString().slice(0, 2000) }).toEqual({
    status: 0,
    signal: null,
    said: '',
  })
  const results = recording.decode(stdout)
  all.forEach((test, i) => {
    const numbers = derived(test, results[i] ?? {}, test.values)
    const bound = rounds ? (test.rounding?.bound ?? f32Bound) : f32Bound
    for (const [output, expected] of Object.entries(expectedOf(test, test.values))) {
      if (rounds && test.discrete?.includes(output) === true) continue
      const { relative } = deviationOf(numbers[output] ?? [], expected)
      expect(relative, `${test.operator}, ${test.name}: ${output}`).toBeLessThan(bound)
    }
  })
  return stdout
}

describe('NEON on another machine', () => {
  it('clang takes it without a warning', async ({ skip }) => {
    const compiler = await programOf('clang')
    const headers = await programOf('aarch64-linux-gnu-gcc')
    if (neon === undefined || compiler === null) return skip('clang is not installed')
    if (headers === null) return skip('there is no C library for ARM')
    const source = path.join(sourceDir, neon.file)
    const flags = commonFlags.filter((flag) => flag !== '-shared')
    const target = ['--target=aarch64-linux-gnu', ...flags, ...strict, '-c', source]
    await run(compiler, [...target, '-o', path.join(folder.path, 'neon.o')])
  })

  it('gcc takes it without a warning, and every operator is right under qemu', async ({ skip }) => {
    const [compiler, emulator] = [
      await programOf('aarch64-linux-gnu-gcc'),
      await programOf('qemu-aarch64'),
    ]
    if (neon === undefined || compiler === null) return skip('no gcc for ARM is installed')
    const program = await compile(compiler, [...strict, '-static', ...asProgram(neon)], 'neon')
    if (emulator === null) return skip('qemu-aarch64 is not installed')
    const two = expectRight([emulator, program], false)
    const one = start([emulator, program, '1'], recording.input).stdout
    expect(two?.equals(one), 'one thread writes the same bytes').toBe(true)
  })
})

const rounds = ({ name }: Variant): boolean => name.includes('BF16')

/** Variants that the guarded program found missing here; saves compiling them again. */
const lacking = new Set<string>()

/** Linux only: the driver asks for pages as it is done there. */
const noGuards = process.platform === 'linux' ? null : 'guard pages are tried on Linux only'

async function hostCompiler(): Promise<string | null> {
  return (await programOf('gcc')) ?? (await programOf('clang'))
}

describe.each(variants)('$name before guard pages', (variant) => {
  it('reads and writes nothing past the end of a tensor', async ({ skip }) => {
    const compiler = await hostCompiler()
    if (noGuards !== null || compiler === null) return skip(noGuards ?? 'no C compiler')
    const program = await compile(compiler, ['-DGUARD_PAGES', ...asProgram(variant)], 'guarded')
    if (expectRight([program], rounds(variant)) === null) {
      lacking.add(variant.name)
      return skip(`this processor lacks ${variant.name}`)
    }
    // The guards bite: scratch for narrow hidden states, and states of 2,100 channels.
    const wide = all.find(({ operator, name }) => operator === 'head_stats' && /C 2100/.test(name))
    if (wide === undefined) throw new Error('no case has wide hidden states')
    const test: KernelCase = { ...wide, scratch: { ...wide.scratch, width: 16 } }
    const { input } = record([{ test, values: test.values }])
    expect(start([program, '1'], input).signal).toBe('SIGSEGV')
  })
})

const sanitizers = ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']

/** The first compiler that links and runs a program with sanitizers. */
async function sanitizingCompiler(): Promise<string | null> {
  const source = path.join(folder.path, 'empty.c')
  await writeFile(source, 'int main(void) { return 0; }\n')
  for (const name of ['gcc', 'clang']) {
    const compiler = await programOf(name)
    if (compiler === null) continue
    const program = await compile(compiler, [...sanitizers, source], 'empty').catch(() => null)
    if (program !== null && start([program], Buffer.alloc(0)).status === 0) return compiler
  }
  return null
}

describe.each(variants)('$name under sanitizers', (variant) => {
  it('does nothing undefined', async ({ skip }) => {
    if (lacking.has(variant.name)) return skip(`this processor lacks ${variant.name}`)
    const compiler = await sanitizingCompiler()
    if (compiler === null) return skip('no compiler here has the runtimes of the sanitizers')
    const program = await compile(compiler, [...sanitizers, ...asProgram(variant)], 'sanitized')
    if (expectRight([program], rounds(variant)) === null) {
      return skip(`this processor lacks ${variant.name}`)
    }
  })
})
