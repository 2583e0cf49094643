import { describe, expect, it } from 'vitest'
import { fitMessages } from './budget.ts'
import type { PromptMessage } from './types.ts'

/** Ten tokens a message; the ids say which messages stayed. */
const render = (kept: readonly PromptMessage[]): number[] =>
  kept.flatMap(({ text }) => Array.from({ length: 10 }, () => Number(text)))

function chat(...roles: PromptMessage['role'][]): PromptMessage[] {
  return roles.map((role, i) => ({ role, text: String(i) }))
}

function kept(messages: PromptMessage[], contextSize: number): number[] {
  const { ids, droppedMessages } = fitMessages(messages, { contextSize, reserve: 5 }, render)
  const left = [...new Set(ids)]
  expect(droppedMessages).toBe(messages.length - left.length)
  return left
}

const long = chat('system', 'user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user')

describe('fitMessages', () => {
  it('leaves a prompt that fits as it is', () => {
    expect(kept(long, 85)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('drops whole exchanges, the oldest first', () => {
    expect(kept(long, 84)).toEqual([0, 1, 2, 5, 6, 7])
    expect(kept(long, 64)).toEqual([0, 1, 2, 7])
  })

  it('never drops the system message, the first user message or the last message', () => {
    expect(kept(long, 35)).toEqual([0, 1, 7])
    const tools = chat('user', 'assistant', 'user', 'assistant', 'tool')
    expect(kept(tools, 25)).toEqual([0, 4])
    expect(kept(tools, 45)).toEqual([0, 2, 3, 4])
  })

  it('says with numbers when even that does not fit', () => {
    expect(() => kept(long, 34)).toThrow(
      expect.objectContaining({
        code: 'too-large',
        data: { tokens: 30, limit: 29, contextSize: 34, reserve: 5 },
      }),
    )
  })
})
