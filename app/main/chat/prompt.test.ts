import { describe, expect, it } from 'vitest'
import { hintMarker, withHints, withSystemHints } from './prompt.ts'

describe('withHints', () => {
  it('appends the hint to the last user message after a blank line and the marker', () => {
    const messages = withHints(
      [
        { role: 'user', text: 'Explain tides.' },
        { role: 'assistant', text: 'Tides are …' },
        { role: 'user', text: 'And springs?' },
      ],
      ['Use at most 40 words.'],
    )
    expect(messages[0]?.text).toBe('Explain tides.')
    expect(messages[2]?.text).toBe(`And springs?\n\n${hintMarker}\nUse at most 40 words.`)
  })

  it('uses the last message where no user spoke, and a new user message where nobody did', () => {
    expect(withHints([{ role: 'tool', text: 'ok' }], ['Be brief.'])[0]?.text).toBe(
      `ok\n\n${hintMarker}\nBe brief.`,
    )
    expect(withHints([], ['Be brief.'])).toEqual([
      { role: 'user', text: `${hintMarker}\nBe brief.` },
    ])
  })

  it('changes nothing without hints', () => {
    const messages = [{ role: 'user' as const, text: 'Hello' }]
    expect(withHints(messages, [])).toEqual(messages)
  })
})

describe('withSystemHints', () => {
  it('extends the system message or makes one', () => {
    expect(withSystemHints([{ role: 'user', text: 'Hi' }], ['Be kind.'])[0]).toEqual({
      role: 'system',
      text: 'Be kind.',
    })
    expect(withSystemHints([{ role: 'system', text: 'S' }], ['Be kind.'])).toEqual([
      { role: 'system', text: 'S\n\nBe kind.' },
    ])
  })
})
