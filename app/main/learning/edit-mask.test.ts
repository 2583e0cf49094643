import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editMask, removedWords } from './edit-mask.ts'

const texts = (words: readonly { readonly text: string }[]): string[] =>
  words.map((word) => word.text)

describe('removedWords', () => {
  it('finds the words that an edit replaced', () => {
    const removed = removedWords('The cat sat on the very old mat.', 'The cat lay on the mat.')
    expect(texts(removed)).toEqual(['sat', 'very', 'old'])
  })

  it('finds nothing when words were only added', () => {
    expect(removedWords('Water moves.', 'Cold Water slowly moves. Always.')).toEqual([])
  })

  it('finds everything when nothing stayed', () => {
    expect(texts(removedWords('one two', 'drei vier'))).toEqual(['one', 'two'])
  })

  it('takes Chinese characters one by one', () => {
    expect(texts(removedWords('天气很好', '天气不好'))).toEqual(['很'])
  })

  it('leaves a common subsequence of the new text, whatever the texts', () => {
    const sentence = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })
    fc.assert(
      fc.property(sentence, sentence, (old, next) => {
        const removed = new Set(
          removedWords(old.join(' '), next.join(' ')).map(({ start }) => start),
        )
        const kept = old.filter((_, index) => !removed.has(2 * index))
        let at = 0
        for (const word of next) if (word === kept[at]) at += 1
        return at === kept.length
      }),
    )
  })
})

describe('editMask', () => {
  it('marks the tokens of removed words and leaves the rest and the end token alone', () => {
    const mask = editMask(['The', ' big', ' os', 'mosis', ' works', '.', ''], 'The osmosis helps.')
    expect(mask).toEqual([false, true, false, false, true, true, false])
  })
})
