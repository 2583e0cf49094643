// Hints from a user's edit of the reply (DESIGN 6.1e): what changed in form, or the few words that were exchanged.
import { hasBold, hasList, countWords } from '../words.ts'

const maxChangedWords = 8
/** Two thirds of the words gone is a wish for length, not a correction of one place. */
const muchShorter = 0.6

export function wishesFromEdit(reply: string, edited: string): string[] {
  if (edited.trim() === '' || edited === reply) return []
  const wishes: string[] = []
  if (hasList(reply) && !hasList(edited)) wishes.push('Do not use lists.')
  if (hasBold(reply) && !hasBold(edited)) wishes.push('Do not use bold text.')
  const words = countWords(edited)
  if (words > 0 && words <= countWords(reply) * muchShorter) {
    wishes.push(`Use at most ${roundedUp(words)} words.`)
  }
  const exchanged = wishes.length === 0 ? exchangedWords(reply, edited) : null
  return exchanged === null ? wishes : [exchanged]
}

/** The next ten, so that one edit does not make a wish for exactly 37 words. */
function roundedUp(words: number): number {
  return Math.ceil(words / 10) * 10
}

function exchangedWords(reply: string, edited: string): string | null {
  const before = reply.split(/\s+/u).filter(Boolean)
  const after = edited.split(/\s+/u).filter(Boolean)
  let start = 0
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1
  let tail = 0
  const most = Math.min(before.length, after.length) - start
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail])
    tail += 1
  const removed = before.slice(start, before.length - tail)
  const added = after.slice(start, after.length - tail)
  if (Math.max(removed.length, added.length) > maxChangedWords) return null
  return described(phrase(removed), phrase(added))
}

function phrase(words: readonly string[]): string {
  return words
    .join(' ')
    .replace(/["“”]/gu, '')
    .replace(/^[\s.,;:!?*_]+|[\s.,;:!?*_]+$/gu, '')
}

/** Exchanged numbers are the answer's content, not its form. */
function described(removed: string, added: string): string | null {
  if (/\d/u.test(removed + added) || removed.toLowerCase() === added.toLowerCase()) return null
  if (removed === '') return `Include “${added}”.`
  if (added === '') return `Do not say “${removed}”.`
  return `Say “${added}” instead of “${removed}”.`
}
