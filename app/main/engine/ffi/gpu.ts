// The graphics processors that ggml can use on this machine: one library package of node-llama-cpp for each kind.
// Loading such a package needs its driver (libcuda, libvulkan); without it ggml leaves the device out.
import { AppError } from '../../../shared/errors.ts'
import type { GpuKind } from '../types.ts'
import { GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU } from './ggml.gen.ts'
import { loadBackends, loadLibrary, packageDir, type Library } from './library.ts'
import type { Pointer } from './pointer.ts'

/** One device of ggml's registry. */
export interface Gpu {
  readonly kind: GpuKind
  /** ggml's name, for instance `CUDA0`. */
  readonly name: string
  /** The maker's name. */
  readonly description: string
  /** Shares the memory of the CPU. */
  readonly integrated: boolean
  readonly memory: { readonly freeBytes: number; readonly totalBytes: number }
}

interface NativeGpu {
  readonly library: Library
  readonly device: Pointer<'ggml_backend_dev'>
}

const nativeGpus = new WeakMap<Gpu, NativeGpu>()

/** Only this folder imports it. */
export function nativeGpu(gpu: Gpu): NativeGpu {
  const native = nativeGpus.get(gpu)
  if (native === undefined) throw new Error('the device does not come from findGpus')
  return native
}

/** The kinds that there are packages for on this platform, the fastest first. */
export function gpuKinds(): readonly GpuKind[] {
  if (process.platform === 'darwin') return process.arch === 'arm64' ? ['metal'] : []
  return process.arch === 'x64' ? ['cuda', 'vulkan'] : []
}

/** The devices of one kind; `unavailable` where its package is not installed. */
export function findGpus(kind: GpuKind): readonly Gpu[] {
  const name = packageName(kind)
  const dir = packageDir(name, 'bins', name)
  if (dir === null) {
    throw new AppError('unavailable', `node-llama-cpp's package ${name} is not installed`)
  }
  const library = loadLibrary(dir)
  // The CUDA package is built for the newest driver; its companion holds one for older ones.
  const fallback = packageDir(`${name}-ext`, 'bins', name, 'fallback')
  for (const folder of [dir, fallback]) {
    const devices = devicesOf(library)
    if (devices.length > 0) return devices.map((device) => describe(kind, { library, device }))
    if (folder !== null) loadBackends(library.functions, folder)
  }
  return devicesOf(library).map((device) => describe(kind, { library, device }))
}

function packageName(kind: GpuKind): string {
  const platform = { darwin: 'mac', win32: 'win' }[process.platform as string] ?? process.platform
  return `${platform}-${process.arch}-${kind}`
}

function devicesOf({ functions }: Library): Pointer<'ggml_backend_dev'>[] {
  const count = functions.ggml_backend_dev_count()
  const all = Array.from({ length: count }, (_, index) => functions.ggml_backend_dev_get(index))
  const types = [GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU] as readonly number[]
  return all
    .filter((device) => device !== null)
    .filter((device) => types.includes(functions.ggml_backend_dev_type(device)))
}

function describe(kind: GpuKind, native: NativeGpu): Gpu {
  const { device, library } = native
  const { functions } = library
  const gpu = {
    kind,
    name: functions.ggml_backend_dev_name(device),
    description: functions.ggml_backend_dev_description(device),
    integrated: functions.ggml_backend_dev_type(device) === GGML_BACKEND_DEVICE_TYPE_IGPU,
    memory: memoryOf(native),
  }
  nativeGpus.set(gpu, native)
  return gpu
}

/** Free and total memory of a device, as its driver tells it now. */
export function memoryOf({ library, device }: NativeGpu): Gpu['memory'] {
  const [free, total] = [new BigUint64Array(1), new BigUint64Array(1)]
  library.functions.ggml_backend_dev_memory(device, free, total)
  return { freeBytes: Number(free[0]), totalBytes: Number(total[0]) }
}
