import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { ggmlVersion } from '../app/main/engine/ffi/ggml.gen.ts'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly node: string
  readonly platform: string
  /** Instruction set of our kernels where they ran. */
  readonly kernels: string | null
  /** Versions by name. */
  readonly libraries: Readonly<Record<string, string>>
}

export function describeMachine(
  measured: Pick<Machine, 'kernels' | 'libraries'> = { kernels: null, libraries: {} },
): Machine {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    kernels: measured.kernels,
    libraries: {
      ggml: ggmlVersion,
      'node-llama-cpp': versionOf('node-llama-cpp'),
      koffi: versionOf('koffi'),
      ...measured.libraries,
    },
  }
}

/** From our own package.json, whose versions are exact. */
function versionOf(name: string): string {
  const file = new URL('../package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
    dependencies: Record<string, string>
  }
  return dependencies[name] ?? 'unknown'
}
