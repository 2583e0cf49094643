import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitBlocks } from './blocks.ts'

describe('splitBlocks', () => {
  it('cuts between paragraphs', () => {
    expect(splitBlocks('one\n\ntwo\nstill two\n\n\nthree').map((block) => block.trim())).toEqual([
      'one',
      'two\nstill two',
      'three',
    ])
  })

  it('never cuts inside a fence, even an open one', () => {
    expect(splitBlocks('```js\na\n\nb\n```\n\nafter')).toHaveLength(2)
    expect(splitBlocks('~~~\na\n\n```\n\nb')).toHaveLength(1)
    expect(splitBlocks('````\n```\n\n```\n\n````\n\nafter')).toHaveLength(2)
  })

  it('keeps a loose list whole, so that its numbers go on', () => {
    expect(splitBlocks('1. a\n\n2. b\n\n   more of b\n\n3. c\n\nend')).toHaveLength(2)
  })

  it('leaves a text with link definitions whole', () => {
    expect(splitBlocks('see [it]\n\n[it]: https://example.org')).toHaveLength(1)
  })

  it('loses nothing but blank lines', () => {
    const pieces = fc.constantFrom('word', '- item', '1. x', '```', '~~~', '', '    code', '> q')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (lines) => {
        const kept = splitBlocks(lines.join('\n')).join('\n').split('\n')
        const filled = (all: string[]): string[] => all.filter((line) => line.trim() !== '')
        expect(filled(kept)).toEqual(filled(lines))
      }),
    )
  })
})
