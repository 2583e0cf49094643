// Every operator of the kernel library on every variant that this machine can compile and run, against plain f64
// arithmetic. The cases stand in test/support/kernels; an operator without one fails here and in the type check.
import { afterAll, describe, expect, it } from 'vitest'
import { KernelBench, type KernelCase } from '../../../../test/support/kernels/bench.ts'
import { kernelCases } from '../../../../test/support/kernels/cases.ts'
import { headKlDraws } from '../../../../test/support/kernels/head-cases.ts'
import {
  derived,
  deviationOf,
  expectedOf,
  measure,
  poisoned,
  representable,
} from '../../../../test/support/kernels/measure.ts'
import { at, type Numbers } from '../../../../test/support/kernels/plain.ts'
import { operatorNames, type Kernels } from '../ffi/index.ts'
import { variantsOf } from './compile.ts'
import { openVariant } from './open.ts'

const bench = new KernelBench()
const variants = variantsOf[process.arch] ?? []
const opened = await Promise.all(
  variants.map(async (variant) => ({
    name: variant.name,
    found: await openVariant(bench.runtime, variant),
  })),
)

afterAll(() => {
  bench[Symbol.dispose]()
  expect(bench.runtime.counter.alive).toBe(0)
})

/** Sums in f32 in another order than the plain ones. */
const f32Bound = 1e-5

/** One wrong number among thousands hardly moves the norm; no right one is off by so many bounds. */
const oneNumber = 25

/** Differences without a sign stay within five standard errors, where there are enough to tell. */
const standardErrors = 5
const enough = 90

const bytesOf = (results: Readonly<Record<string, Float32Array>>): Buffer =>
  Buffer.concat(Object.values(results).map(({ buffer }) => Buffer.from(buffer)))

/** Where a number is expected to be NaN and is not. */
function missingNaN(found: Numbers, expected: Numbers): number[] {
  return Array.from(expected, (_, i) => i).filter(
    (i) => Number.isNaN(at(expected, i)) && !Number.isNaN(at(found, i)),
  )
}

it('every operator has a case', () => {
  const cases = Object.entries(kernelCases).filter(([, list]) => list.length > 0)
  expect(cases.map(([name]) => name).sort()).toEqual([...operatorNames].sort())
  for (const [name, list] of cases) {
    for (const { operator } of list) expect(operator).toBe(name)
  }
})

describe.each(opened)('$name', ({ name: variant, found }) => {
  if (found.kind === 'none') {
    it.skip(`${variant}: ${found.reason}`, () => undefined)
    return
  }
  const { kernels } = found
  describe.each(operatorNames)('%s', (operator) => {
    const cases: readonly KernelCase[] = kernelCases[operator]

    it.each(cases)('$name agrees with plain arithmetic', async (test) => {
      const bound = kernels.rounds ? (test.rounding?.bound ?? f32Bound) : f32Bound
      const deviations = await measure(bench, kernels, { test })
      for (const [name, { relative, largest, mean, slope }] of Object.entries(deviations)) {
        if (kernels.rounds && test.discrete?.includes(name) === true) continue
        expect(relative, name).toBeLessThan(bound)
        expect(largest, name).toBeLessThan(oneNumber * bound)
        const { independent = 0 } = test.rounding ?? {}
        if (!kernels.rounds || independent < enough) continue
        expect(Math.abs(mean), `mean of ${name}`).toBeLessThan(standardErrors)
        expect(Math.abs(slope), `slope of ${name}`).toBeLessThan(standardErrors)
      }
    })

    it.each(cases)('$name: one, two and three threads write the same, no more', async (test) => {
      const run = async (threads: number): Promise<Buffer> => {
        const { results, damage } = await bench.run(kernels, test, { threads })
        expect(damage, `${threads} threads`).toEqual([])
        return bytesOf(results)
      }
      const one = await run(1)
      expect(one.equals(await run(2))).toBe(true)
      expect(one.equals(await run(3))).toBe(true)
    })

    it.each(cases)('$name: what is not a number stays none', async (test) => {
      for (const name of Object.keys(test.values)) {
        if (test.values[name] instanceof Int32Array) continue
        const values = poisoned(test, name)
        const { results } = await bench.run(kernels, test, { values })
        const numbers = derived(test, results, values)
        for (const [output, expected] of Object.entries(expectedOf(test, values))) {
          if (test.discrete?.includes(output) === true) continue
          const missing = missingNaN(numbers[output] ?? [], expected)
          expect(missing, `${output} of a NaN in ${name}`).toEqual([])
        }
      }
    })
  })

  if (kernels.rounds) describeExact(kernels)
  if (kernels.rounds) describeDraws(kernels)
})

function describeExact(kernels: Kernels): void {
  const cases = Object.values(kernelCases).flat()
  it.each(cases.filter(({ rounding }) => rounding?.givenOnly === true))(
    '$operator, $name: numbers that bf16 holds are not rounded',
    async (test) => {
      const values = representable(test)
      const deviations = await measure(bench, kernels, { test, values })
      for (const [name, { relative }] of Object.entries(deviations)) {
        expect(relative, name).toBeLessThan(f32Bound)
      }
    },
  )
}

function describeDraws(kernels: Kernels): void {
  it('head_kl: over many draws the differences have no sign', async () => {
    const found: Record<string, number[]> = {}
    for (const test of headKlDraws) {
      const deviations = await measure(bench, kernels, { test })
      for (const [name, { mean, slope }] of Object.entries(deviations)) {
        for (const [what, value] of Object.entries({ mean, slope })) {
          ;(found[`${what} of ${name}`] ??= []).push(value)
        }
      }
    }
    expect(Object.keys(found)).toHaveLength(4)
    for (const [name, values] of Object.entries(found)) {
      expect(Math.abs(inStandardErrors(values)), name).toBeLessThan(standardErrors)
    }
  })
}

/** The mean of independent numbers over its own standard error. */
function inStandardErrors(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return mean / Math.sqrt(squares / (values.length - 1) / values.length)
}

describe('the measure itself', () => {
  it('tells draws of one sign from draws of both', () => {
    const draws = Array.from({ length: 32 }, (_, i) => Math.sin(7 * i))
    expect(Math.abs(inStandardErrors(draws))).toBeLessThan(1)
    expect(inStandardErrors(draws.map((value) => value + 1))).toBeGreaterThan(standardErrors)
  })

  const expected = Float64Array.from({ length: 400 }, (_, i) => Math.sin(i))

  it('sees one wrong number, NaN and differences of one sign', () => {
    const wrong = expected.with(7, 9)
    expect(deviationOf(wrong, expected).largest).toBeGreaterThan(5)
    const { relative, largest } = deviationOf(expected.with(7, NaN), expected)
    expect(relative).toBeNaN()
    expect(largest).toBeNaN()
    expect(
      deviationOf(
        expected.map((x) => x * 0.999),
        expected,
      ).slope,
    ).toBeLessThan(-10)
    expect(
      deviationOf(
        expected.map((x) => x + 1e-3),
        expected,
      ).mean,
    ).toBeGreaterThan(10)
    const alternating = expected.map((x, i) => x + (i % 2 === 0 ? 1e-3 : -1e-3))
    expect(Math.abs(deviationOf(alternating, expected).mean)).toBeLessThan(1)
  })
})
