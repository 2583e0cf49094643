import { describe, expect, it } from 'vitest'
import { AppError } from '../../shared/errors.ts'
import { checkMessageText, isHeldOut, messageLimitCharacters, titleOf } from './limits.ts'

describe('checkMessageText', () => {
  it('keeps the text as typed', () => {
    expect(checkMessageText('  hello \n')).toBe('  hello \n')
  })

  it('refuses an empty message', () => {
    expect(() => checkMessageText(' \n\t')).toThrow('The message is empty.')
  })

  it('refuses a one-megabyte message with both numbers', () => {
    const text = 'a'.repeat(1_048_576)
    expect(() => checkMessageText(text)).toThrow(AppError)
    expect(() => checkMessageText(text)).toThrow(
      `1048576 characters; at most ${messageLimitCharacters}`,
    )
  })
})

describe('titleOf', () => {
  it('is one line of at most 48 characters', () => {
    expect(titleOf(' Explain\n osmosis. ')).toBe('Explain osmosis.')
    expect(titleOf('word '.repeat(40)).length).toBeLessThanOrEqual(48)
  })
})

describe('isHeldOut', () => {
  const ids = Array.from({ length: 1000 }, (_, index) => `message-${index}`)

  it('never holds out one of the first eight first prompts', () => {
    expect(ids.some((id) => isHeldOut(id, 7))).toBe(false)
  })

  it('holds out about one in five afterwards, always the same ones', () => {
    const held = ids.filter((id) => isHeldOut(id, 8))
    expect(held.length).toBeGreaterThan(150)
    expect(held.length).toBeLessThan(250)
    expect(ids.filter((id) => isHeldOut(id, 20))).toEqual(held)
  })
})
