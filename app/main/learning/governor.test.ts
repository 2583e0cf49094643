import { describe, expect, it } from 'vitest'
import { leaseWords } from '../../shared/contract/trainer.ts'
import { createGovernor } from './governor.ts'

function lease(cores: number) {
  const memory = new SharedArrayBuffer(leaseWords.length * Int32Array.BYTES_PER_ELEMENT)
  const words = new Int32Array(memory)
  const state = { demand: 0, quietMs: 0 }
  const governor = createGovernor({
    memory,
    cores,
    demand: () => state.demand,
    quietMs: () => state.quietMs,
  })
  return { governor, state, word: (name: 'stop' | 'threads' | 'cancel') => words[leaseWords[name]] }
}

describe('the governor', () => {
  it('stops the trainer while somebody is served and lets it go on afterwards', () => {
    const { governor, state, word } = lease(4)
    expect(word('stop')).toBe(0)
    state.demand = 1
    governor.update()
    expect(word('stop')).toBe(1)
    state.demand = 0
    governor.update()
    expect(word('stop')).toBe(0)
  })

  it('keeps a core for the host until it has been quiet for a minute', () => {
    const { governor, state, word } = lease(4)
    expect(word('threads')).toBe(3)
    state.quietMs = 60_000
    governor.update()
    expect(word('threads')).toBe(4)
    state.quietMs = 0
    governor.update()
    expect(word('threads')).toBe(3)
  })

  it('never asks for fewer than one thread', () => {
    expect(lease(1).word('threads')).toBe(1)
  })

  it('cancels a stopped trainer without leaving it asleep', () => {
    const { governor, state, word } = lease(2)
    state.demand = 1
    governor.update()
    governor.cancel()
    expect(word('cancel')).toBe(1)
    expect(word('stop')).toBe(0)
    governor.clearCancel()
    expect(word('cancel')).toBe(0)
  })
})
