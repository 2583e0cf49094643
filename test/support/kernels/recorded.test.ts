// The yardstick against PyTorch: plain f64 arithmetic and autograd in f64 agree on every operator.
import { describe, expect, it } from 'vitest'
import { operatorNames } from '../../../app/main/engine/ffi/index.ts'
import { relativeDifference } from '../numerics.ts'
import { expectedOf } from './measure.ts'
import { casesToRecord, hashOf, recordedOf } from './recorded.ts'

describe.each(operatorNames)('%s', (operator) => {
  const cases = casesToRecord.filter((test) => test.operator === operator)

  it('was recorded', () => {
    expect(cases.length).toBeGreaterThan(0)
  })

  it.each(cases)('$name was recorded from the numbers of today', (test) => {
    expect(recordedOf(test).hash, 'record again with make_op_reference.py').toBe(hashOf(test))
  })

  it.each(cases)('$name: plain arithmetic agrees with PyTorch', (test) => {
    const { results } = recordedOf(test)
    const plain = expectedOf(test, test.values)
    expect(Object.keys(results).sort()).toEqual(Object.keys(plain).sort())
    for (const [name, expected] of Object.entries(results)) {
      expect(plain[name], name).toHaveLength(expected.length)
      expect(relativeDifference(plain[name] ?? [], expected), name).toBeLessThan(1e-6)
    }
  })
})
