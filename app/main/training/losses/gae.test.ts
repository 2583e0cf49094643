import { describe, expect, it } from 'vitest'
import { estimateAdvantages } from './gae.ts'

const half = { discount: 0.5, trace: 0.5 }

describe('generalised advantage estimation', () => {
  it('lets the last reward fade backwards where nothing is expected', () => {
    const { advantages, returns } = estimateAdvantages({ reward: 1, values: [0, 0, 0], ...half })
    expect([...advantages]).toEqual([1 / 16, 1 / 4, 1])
    expect([...returns]).toEqual([...advantages])
  })

  it('adds up the surprises: δ_t + γλ·A_{t+1}', () => {
    // δ = 0.5·2 − 1 = 0, 0.5·(−1) − 2 = −2.5, 3 − (−1) = 4.
    const { advantages, returns } = estimateAdvantages({ reward: 3, values: [1, 2, -1], ...half })
    expect([...advantages]).toEqual([-0.375, -1.5, 4])
    expect([...returns]).toEqual([0.625, 0.5, 3])
  })

  it('is the reward less what was expected where nothing fades', () => {
    const { advantages } = estimateAdvantages({
      reward: -1,
      values: [0.5, -0.25],
      discount: 1,
      trace: 1,
    })
    expect([...advantages]).toEqual([-1.5, -0.75])
  })
})
