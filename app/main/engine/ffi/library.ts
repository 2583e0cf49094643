// Loads the ggml libraries that node-llama-cpp ships and binds the generated prototypes through koffi.
// A library of another version is refused: struct layouts and op semantics change between versions.
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import koffi, { type LibraryHandle } from 'koffi'
import { AppError } from '../../../shared/errors.ts'
import {
  GGML_BACKEND_DEVICE_TYPE_CPU,
  ggmlVersion,
  prototypes,
  type GgmlFunctions,
} from './ggml.gen.ts'
import type { Pointer } from './pointer.ts'

export interface Library {
  readonly functions: GgmlFunctions
  readonly version: string
  /** The CPU. */
  readonly device: Pointer<'ggml_backend_dev'>
  readonly setThreads: (backend: Pointer<'ggml_backend'>, threads: number) => void
}

const librariesByDir = new Map<string, Library>()

/** Loading is done once per folder and process; shared libraries are never unloaded. */
export function loadLibrary(libraryDir?: string): Library {
  const dir = unpacked(libraryDir ?? shippedLibraryDir())
  const loaded = librariesByDir.get(dir)
  if (loaded !== undefined) return loaded
  const library = openLibrary(dir)
  librariesByDir.set(dir, library)
  return library
}

function openLibrary(dir: string): Library {
  const base = loadFile(dir, /^(lib)?ggml-base\.(so|dylib|dll)$/)
  const core = loadFile(dir, /^(lib)?ggml(\.[a-z]+)?(\.v[\d.]+)?\.(so|dylib|dll)$/)
  const functions = bindFunctions({ base, core })
  const version = functions.ggml_version()
  if (version !== ggmlVersion) {
    throw new AppError('unsupported', `expected ggml ${ggmlVersion} in ${dir}, found ${version}`)
  }
  const device = findCpuDevice(functions, dir)
  return { functions, version, device, setThreads: bindSetThreads(functions, device) }
}

/** The folder of the CPU build for this platform. */
function shippedLibraryDir(): string {
  const name = shippedPackageName()
  const dir = packageDir(name, 'bins', name)
  if (dir === null) {
    throw new AppError('unavailable', `node-llama-cpp has no libraries for ${name}`)
  }
  return dir
}

/**
 * A folder inside one of node-llama-cpp's optional packages, found by walking the module folders because the
 * packages export nothing but their entry; null where it is not installed.
 */
export function packageDir(name: string, ...inside: readonly string[]): string | null {
  const folders = createRequire(import.meta.url).resolve.paths('@node-llama-cpp/x') ?? []
  const dirs = folders.map((folder) => path.join(folder, '@node-llama-cpp', name, ...inside))
  const found = dirs.find((dir) => existsSync(unpacked(dir)))
  return found === undefined ? null : unpacked(found)
}

function shippedPackageName(): string {
  if (process.platform === 'darwin') {
    return process.arch === 'arm64' ? 'mac-arm64-metal' : `mac-${process.arch}`
  }
  return `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
}

/** Native code cannot be loaded from inside an application archive. */
function unpacked(dir: string): string {
  return dir.replace(/\.asar(?=[\\/])/, '.asar.unpacked')
}

function loadFile(dir: string, pattern: RegExp): LibraryHandle {
  let names: string[]
  try {
    names = readdirSync(dir)
  } catch (cause) {
    throw new AppError('unavailable', `the ggml libraries' folder ${dir} cannot be read`, { cause })
  }
  const name = names.find((entry) => pattern.test(entry))
  if (name === undefined) throw new AppError('unavailable', `no ggml library in ${dir}`)
  try {
    return koffi.load(path.join(dir, name))
  } catch (cause) {
    throw new AppError('unavailable', `the ggml library ${name} cannot be loaded`, { cause })
  }
}

const initParams = koffi.struct({
  mem_size: 'size_t',
  mem_buffer: 'void *',
  no_alloc: 'bool',
})

/**
 * Where a second folder is loaded, its core is linked to the base of the first (the loaders go by name), so all
 * functions are looked up from the core; Windows does not look into the libraries that one needs.
 */
function bindFunctions({ base, core }: Record<'base' | 'core', LibraryHandle>): GgmlFunctions {
  const handles = { core, base: process.platform === 'win32' ? base : core }
  const bound = Object.entries(prototypes).map(([name, prototype]) => {
    const parameters = prototype.parameters.map((type) =>
      type === 'ggml_init_params' ? initParams : type,
    )
    return [name, handles[prototype.library].func(name, prototype.result, parameters)]
  })
  return Object.fromEntries(bound) as GgmlFunctions
}

/** Registers the fastest CPU library for this machine, unless node-llama-cpp already did in this process. */
function findCpuDevice(functions: GgmlFunctions, dir: string): Pointer<'ggml_backend_dev'> {
  const find = (): Pointer<'ggml_backend_dev'> | null =>
    functions.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)
  const present = find()
  if (present !== null) return present
  loadBackends(functions, dir)
  const device = find()
  if (device === null) throw new AppError('unavailable', `no CPU library of ggml in ${dir}`)
  return device
}

/** Registers all backends that a folder holds. */
export function loadBackends(functions: GgmlFunctions, dir: string): void {
  quietly(functions, () => functions.ggml_backend_load_all_from_path(dir))
}

/** ggml announces libraries and devices on stderr; the messages come during the call, on this thread. */
export function quietly<T>(functions: GgmlFunctions, work: () => T): T {
  const proto = koffi.proto('void (int level, str text, void *data)')
  const silent = koffi.register(() => undefined, koffi.pointer(proto))
  functions.ggml_log_set(silent, null)
  try {
    return work()
  } finally {
    functions.ggml_log_set(null, null)
    koffi.unregister(silent)
  }
}

function bindSetThreads(
  functions: GgmlFunctions,
  device: Pointer<'ggml_backend_dev'>,
): Library['setThreads'] {
  const registry = functions.ggml_backend_dev_backend_reg(device)
  const name = 'ggml_backend_set_n_threads'
  const address = functions.ggml_backend_reg_get_proc_address(registry, name)
  if (address === null) throw new AppError('unavailable', `the CPU library lacks ${name}`)
  const proto = koffi.proto('void (void *backend, int threads)')
  return koffi.decode(address, proto) as Library['setThreads']
}
