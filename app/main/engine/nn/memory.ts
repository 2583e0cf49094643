// Whether a call fits, decided before anything is allocated: Linux would kill the process instead of refusing.
import { AppError } from '../../../shared/errors.ts'
import type { Arena, ArenaPart } from '../ffi/index.ts'
import type { MemoryPlan } from '../types.ts'

const mebibyte = 2 ** 20

export function inMebibytes(bytes: number): number {
  return Math.ceil(bytes / mebibyte)
}

/** Refuses what an arena would have to allocate beyond what is free. */
export function ensureRoom(arena: Arena, purpose: string, availableBytes: number): void {
  if (arena.held >= arena.used || arena.used - arena.held <= availableBytes) return
  throw shortage({
    purpose,
    parts: arena.parts(),
    neededBytes: arena.used - arena.held,
    availableBytes,
  })
}

export interface Shortage {
  /** What it is for: "the model's weights". */
  readonly purpose: string
  readonly parts: readonly ArenaPart[]
  readonly neededBytes: number
  readonly availableBytes: number
  /** What would help, as clauses. */
  readonly help?: readonly string[]
}

/** Says what is needed, what is there and what would help. */
export function shortage(facts: Shortage): AppError {
  const { purpose, parts, neededBytes, availableBytes, help = [] } = facts
  const largest = [...parts].sort((one, two) => two.bytes - one.bytes).slice(0, 3)
  const shares = largest.map(({ name, bytes }) => `${name} ${inMebibytes(bytes)} MiB`)
  const [need, have] = [neededBytes, availableBytes].map(inMebibytes)
  const detail = shares.length === 0 ? '' : ` (${shares.join(', ')})`
  const advice = help.length === 0 ? '' : `. What would help: ${help.join('; ')}`
  const message = `${purpose} need ${need} MiB more, ${have} MiB are free${detail}${advice}`
  return new AppError('out-of-memory', message, { data: { neededBytes, availableBytes } })
}

export function memoryPlan(
  parts: readonly ArenaPart[],
  facts: {
    readonly heldBytes: number
    readonly availableBytes: number
    readonly recomputes: boolean
  },
): MemoryPlan {
  const totalBytes = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  const neededBytes = Math.max(0, totalBytes - facts.heldBytes)
  const { availableBytes, recomputes } = facts
  return {
    parts: [...parts],
    totalBytes,
    neededBytes,
    availableBytes,
    fits: neededBytes <= availableBytes,
    recomputes,
  }
}

/** The largest number in [0, most] for which `fits` holds, given that it holds for all smaller ones. */
export function largestThat(fits: (count: number) => boolean, most: number): number {
  let [low, high] = [0, most]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}
