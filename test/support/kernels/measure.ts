// How far a kernel's results are from plain arithmetic, and whether the differences have a sign.
import type { Kernels } from '../../../app/main/engine/ffi/index.ts'
import type { KernelBench, KernelCase, Results, Values } from './bench.ts'
import { at, type Numbers } from './plain.ts'

export interface Deviation {
  /** ‖found − expected‖ / ‖expected‖. */
  readonly relative: number
  /** The largest difference, in root mean squares of what is expected. */
  readonly largest: number
  /** Mean of the differences and their share along what is expected, both in standard errors. */
  readonly mean: number
  readonly slope: number
}

export function derived(test: KernelCase, results: Results, values: Values) {
  return test.derive?.(results, values) ?? results
}

/** `independent`: numbers that were rounded one by one; as many differences are independent at most. */
export function deviationOf(
  found: Numbers,
  expected: Numbers,
  independent = expected.length,
): Deviation {
  if (found.length !== expected.length) throw new Error(`${found.length} and ${expected.length}`)
  const n = expected.length
  let [difference, size, total, along, largest] = [0, 0, 0, 0, 0]
  for (let i = 0; i < n; i += 1) {
    const [y, off] = [at(expected, i), at(found, i) - at(expected, i)]
    difference += off ** 2
    size += y ** 2
    total += off
    along += off * y
    largest = Math.max(largest, Math.abs(off)) // NaN stays
  }
  const errors = Math.sqrt(difference / Math.min(n, independent))
  return {
    relative: Math.sqrt(difference / size),
    largest: largest / Math.sqrt(size / n),
    mean: total / Math.sqrt(n) / errors,
    slope: along / Math.sqrt(size) / errors,
  }
}

const known = new WeakMap<Values, Readonly<Record<string, Numbers>>>()

/** `test.plain(values)`, computed once for all variants. */
export function expectedOf(test: KernelCase, values: Values): Readonly<Record<string, Numbers>> {
  const found = known.get(values) ?? test.plain(values)
  known.set(values, found)
  return found
}

export async function measure(
  bench: KernelBench,
  kernels: Kernels,
  { test, values = test.values }: { readonly test: KernelCase; readonly values?: Values },
): Promise<Readonly<Record<string, Deviation>>> {
  const { results } = await bench.run(kernels, test, { values })
  const found = derived(test, results, values)
  return Object.fromEntries(
    Object.entries(expectedOf(test, values)).map(([name, expected]) => [
      name,
      deviationOf(found[name] ?? [], expected, test.rounding?.independent),
    ]),
  )
}

const variations = new WeakMap<Values, Map<string, Values>>()

function variation(of: Values, name: string, make: () => Values): Values {
  const made = variations.get(of) ?? new Map<string, Values>()
  variations.set(of, made)
  const found = made.get(name) ?? make()
  made.set(name, found)
  return found
}

/** One number of a matrix or an input becomes NaN. */
export function poisoned(test: KernelCase, name: string): Values {
  return variation(test.values, name, () => {
    const numbers = Float32Array.from(test.values[name] ?? [])
    numbers[Math.floor(numbers.length / 3)] = NaN
    const changed = { ...test.values, [name]: numbers }
    return test.complete?.(changed) ?? changed
  })
}

/** The same numbers with the lower 16 bits cleared: bf16 holds them. */
export function representable(test: KernelCase): Values {
  return variation(test.values, 'bf16', () =>
    Object.fromEntries(
      Object.entries(test.values).map(([name, numbers]) => {
        if (numbers instanceof Int32Array) return [name, numbers]
        const words = new Int32Array(numbers.slice().buffer).map((word) => word & ~0xffff)
        return [name, new Float32Array(words.buffer)]
      }),
    ),
  )
}
