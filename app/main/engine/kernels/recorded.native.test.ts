// Every operator on every variant that this machine can compile and run, against the numbers of PyTorch's autograd.
import { afterAll, describe, expect, it } from 'vitest'
import { KernelBench } from '../../../../test/support/kernels/bench.ts'
import { derived, deviationOf } from '../../../../test/support/kernels/measure.ts'
import { casesToRecord, recordedOf } from '../../../../test/support/kernels/recorded.ts'
import { operatorNames } from '../ffi/index.ts'
import { variantsOf } from './compile.ts'
import { openVariant } from './open.ts'

const bench = new KernelBench()
const opened = await Promise.all(
  (variantsOf[process.arch] ?? []).map(async (variant) => ({
    name: variant.name,
    found: await openVariant(bench.runtime, variant),
  })),
)

afterAll(() => {
  bench[Symbol.dispose]()
  expect(bench.runtime.counter.alive).toBe(0)
})

/** Sums in f32 in another order. */
const f32Bound = 1e-5

describe.each(opened)('$name', ({ name: variant, found }) => {
  if (found.kind === 'none') {
    it.skip(`${variant}: ${found.reason}`, () => undefined)
    return
  }
  const { kernels } = found
  describe.each(operatorNames)('%s', (operator) => {
    const cases = casesToRecord.filter((test) => test.operator === operator)
    it.each(cases)('$name agrees with PyTorch', async (test) => {
      const bound = kernels.rounds ? (test.rounding?.bound ?? f32Bound) : f32Bound
      const { results } = await bench.run(kernels, test)
      const numbers = derived(test, results, test.values)
      for (const [name, expected] of Object.entries(recordedOf(test).results)) {
        if (kernels.rounds && test.discrete?.includes(name) === true) continue
        const { relative } = deviationOf(numbers[name] ?? [], expected)
        expect(relative, name).toBeLessThan(bound)
      }
    })
  })
})
