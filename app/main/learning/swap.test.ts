import { describe, expect, it } from 'vitest'
import {
  agreeing,
  farApart,
  learningBench,
  type BenchOptions,
} from '../../../test/support/learning-bench.ts'
import { swapTo } from './swap.ts'

const next = { version: 1, path: 'v1.gguf' }

async function swapped(options: BenchOptions) {
  await using bench = await learningBench(options)
  const check = await swapTo(bench.deps, next, [{ promptIds: [1], responseIds: [2] }])
  return { check, calls: bench.policy.calls, active: bench.policy.policy.active() }
}

describe('swapping', () => {
  it('activates a version whose served weights are the trained ones', async () => {
    const { check, calls, active } = await swapped({})
    expect(check).toMatchObject({ name: 'probe', verdict: 'passed', limit: 0.2 })
    expect(check.value).toBeCloseTo(0, 3)
    expect(calls).toEqual(['prepare 1', 'activate 1'])
    expect(active).toEqual(next)
  })

  it('frees a version that still serves the old weights, and leaves the old one live', async () => {
    const { check, calls, active } = await swapped({ scores: () => agreeing({ version: 0 }) })
    expect(check.verdict).toBe('failed')
    expect(check.sentence).toContain('the swap was undone')
    expect(calls).toEqual(['prepare 1', 'release 1'])
    expect(active.version).toBe(0)
  })

  it('activates a change that is smaller than five times the noise, and says so', async () => {
    const probe = () => ({ ...farApart, kl: 0.001, newLogProbs: farApart.oldLogProbs })
    const shifted = (): Float32Array => {
      const logProbs = new Float32Array(300).fill(-20)
      logProbs[5] = Math.log(0.85)
      logProbs[6] = Math.log(0.15)
      return logProbs
    }
    const { check, active } = await swapped({ probe, scores: shifted })
    expect(check.verdict).toBe('not-tested')
    expect(check.sentence).toContain('too small to verify')
    expect(active.version).toBe(1)
  })

  it('activates nothing when the probe breaks', async () => {
    await using bench = await learningBench({
      probe: () => {
        throw new Error('the trainer is gone')
      },
    })
    await expect(swapTo(bench.deps, next, [])).rejects.toThrow('the trainer is gone')
    expect(bench.policy.policy.active().version).toBe(0)
  })
})
