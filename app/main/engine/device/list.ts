// The devices of this machine as the Hardware page shows them.
import { availableParallelism, cpus, totalmem } from 'node:os'
import { gpuKinds } from '../ffi/index.ts'
import type { DeviceInfo } from '../types.ts'
import { examine } from './examine.ts'

/** The CPU, then every kind of GPU that there could be; GPUs are tested, which takes some seconds the first time. */
export async function listDevices(): Promise<DeviceInfo[]> {
  const threads = availableParallelism()
  const gpus: DeviceInfo[] = []
  for (const kind of gpuKinds()) {
    const found = await examine({ kind, threads })
    if (found.reason !== null) {
      gpus.push({ kind, name: null, memory: null, trains: false, reason: found.reason })
    }
    for (const { description, memory, trouble } of found.gpus) {
      gpus.push({ kind, name: description, memory, trains: trouble === null, reason: trouble })
    }
  }
  const memory = { freeBytes: process.availableMemory(), totalBytes: totalmem() }
  const name = cpus()[0]?.model.trim() ?? process.arch
  return [{ kind: 'cpu', name, memory, trains: true, reason: null }, ...gpus]
}
