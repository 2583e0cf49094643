// An edit of a reply rejects only what it took out (DESIGN 5.1): the words of the old text outside the longest
// common subsequence with the new one, mapped to the reply's tokens. Pure.

interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

function wordsOf(text: string): Word[] {
  // A CJK character is a word of its own; elsewhere words are what spaces separate.
  return [
    ...text.matchAll(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu,
    ),
  ].map((match) => ({ text: match[0], start: match.index, end: match.index + match[0].length }))
}

/** Lengths of the longest common subsequences of all suffixes, [old + 1, new + 1]. */
function commonLengths(old: readonly Word[], next: readonly Word[]): Uint16Array[] {
  const rows = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1))
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = next.length - 1; j >= 0; j -= 1) {
      const below = rows[i + 1]
      const row = rows[i]
      if (row === undefined || below === undefined) continue
      row[j] =
        old[i]?.text === next[j]?.text
          ? (below[j + 1] ?? 0) + 1
          : Math.max(below[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return rows
}

/** Words of the old text that the new one does not have in this order. */
export function removedWords(oldText: string, newText: string): Word[] {
  const old = wordsOf(oldText)
  const next = wordsOf(newText)
  const lengths = commonLengths(old, next)
  const removed: Word[] = []
  let j = 0
  for (const [i, word] of old.entries()) {
    while (j < next.length && (lengths[i]?.[j + 1] ?? 0) === (lengths[i]?.[j] ?? 0)) j += 1
    const isCommon =
      next[j]?.text === word.text && (lengths[i]?.[j] ?? 0) > (lengths[i + 1]?.[j] ?? 0)
    if (isCommon) j += 1
    else removed.push(word)
  }
  return removed
}

/**
 * One flag per reply token: true where the token touches a removed word. `tokenTexts` are the texts of the ids
 * in order; the end token has an empty text and is never touched.
 */
export function editMask(tokenTexts: readonly string[], newText: string): boolean[] {
  const oldText = tokenTexts.join('')
  const removed = removedWords(oldText, newText)
  let position = 0
  return tokenTexts.map((text) => {
    const start = position
    position += text.length
    return removed.some((word) => word.start < position && word.end > start && text.trim() !== '')
  })
}
