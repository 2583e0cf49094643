// Chooses where a model is trained: on the CPU, or on the first GPU of the wanted kind that passed its test.
import { findGpus, gpuKinds, Runtime } from '../ffi/index.ts'
import type { EngineOptions, GpuKind } from '../types.ts'
import { examine, type ExaminedGpu } from './examine.ts'

export interface OpenedDevice {
  readonly runtime: Runtime
  /** Why a wanted GPU is not used. */
  readonly reason: string | null
}

export async function openDevice(options: EngineOptions): Promise<OpenedDevice> {
  const { device = 'cpu', threads, libraryDir } = options
  const reasons: string[] = []
  const kinds = device === 'cpu' ? [] : device === 'auto' ? gpuKinds() : [device]
  for (const kind of kinds) {
    const opened = await openKind(kind, { threads, automatic: device === 'auto' })
    if (opened.kind === 'open') return { runtime: opened.runtime, reason: null }
    reasons.push(opened.reason)
  }
  const runtime = new Runtime({ libraryDir, threads })
  if (device === 'cpu') return { runtime, reason: null }
  if (reasons.length === 0) reasons.push(`no package for ${process.platform} ${process.arch}`)
  return { runtime, reason: `no GPU that ggml can use here: ${reasons.join('; ')}` }
}

type OpenedKind =
  | { readonly kind: 'open'; readonly runtime: Runtime }
  | { readonly kind: 'none'; readonly reason: string }

async function openKind(
  kind: GpuKind,
  { threads, automatic }: { readonly threads: number; readonly automatic: boolean },
): Promise<OpenedKind> {
  const { gpus, reason } = await examine({ kind, threads })
  if (reason !== null) return { kind: 'none', reason: `${kind}: ${reason}` }
  const refusals: string[] = []
  for (const gpu of gpus) {
    const refusal = gpu.trouble ?? (automatic ? notByItself(gpu) : null)
    if (refusal !== null) refusals.push(`${gpu.description}: ${refusal}`)
    else return openGpu(gpu, threads)
  }
  return { kind: 'none', reason: refusals.join('; ') }
}

/**
 * Devices that are taken only when their kind is asked for: an integrated one shares the memory that bounds our CPU
 * kernels, and a software one is the CPU by another name.
 */
function notByItself({ integrated, description }: ExaminedGpu): string | null {
  if (/llvmpipe|lavapipe|swiftshader/i.test(description)) return 'it is a program, not a GPU'
  return integrated ? 'it is part of the CPU, and not asked for by name' : null
}

/** Only now is the GPU's library loaded into this process. */
function openGpu({ kind, name, description }: ExaminedGpu, threads: number): OpenedKind {
  const gpu = findGpus(kind).find((found) => found.name === name)
  if (gpu === undefined) return { kind: 'none', reason: `${description} is gone` }
  return { kind: 'open', runtime: new Runtime({ gpu, threads }) }
}
