// What training loses without our own kernels, from the instruction sets that the processor says it has.
import { readFile } from 'node:fs/promises'

/** How many times as long a training step takes, least and most. */
export interface Slowdown {
  readonly low: number
  readonly high: number
}

/**
 * A training step of the default model (2 threads) on ggml alone against our kernels, by the flag under which Linux
 * lists the instruction set, best first. The first on an Intel Xeon (512 tokens), the others on an AMD Zen 4 (256).
 */
const measured: readonly (readonly [flag: string, factor: number])[] = [
  ['amx_bf16', 6.6],
  ['avx512_bf16', 4.4],
  ['avx512f', 2.4],
  ['avx2', 2.2],
]

/** null where no measurement says anything about this processor. */
export async function expectedSlowdown(): Promise<Slowdown | null> {
  if (process.arch !== 'x64') return null
  return slowdownOf(await processorFlags())
}

/** Without flags the whole range: a processor of the last ten years has one of them. */
export function slowdownOf(flags: ReadonlySet<string> | null): Slowdown | null {
  const factors = measured
    .filter(([flag]) => flags === null || flags.has(flag))
    .map(([, factor]) => factor)
  const [best] = factors
  if (best === undefined) return null
  return { low: flags === null ? Math.min(...factors) : best, high: best }
}

/** null where the system does not list them. */
async function processorFlags(): Promise<ReadonlySet<string> | null> {
  if (process.platform !== 'linux') return null
  try {
    const line = /^flags\s*:(.*)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1]
    return line === undefined ? null : new Set(line.trim().split(/\s+/))
  } catch (error) {
    // A sandbox without /proc: the flags are unknown, as on other systems.
    if (error instanceof Error && 'code' in error) return null
    throw error
  }
}
