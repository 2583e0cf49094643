// Reads a judge's free text. The last boxed value counts; anything unexpected is invalid, never a guess.
import type { RewardValue } from '../../shared/domain/turn.ts'

const boxMark = '\\boxed{'
const minHintCharacters = 10
const maxHintSentences = 3

/** 1, −1 or 0 from the last `\boxed{…}`; null for none, other contents, a cut-off box or unfinished thinking. */
export function parseBoxed(text: string): RewardValue | null {
  if (thinkingUnfinished(text)) return null
  const start = text.lastIndexOf(boxMark)
  if (start === -1) return null
  const match = /^([+-]?)([01])\}/u.exec(
    text.slice(start + boxMark.length, start + boxMark.length + 4),
  )
  if (match === null) return null
  if (match[2] === '0') return 0
  return match[1] === '-' ? -1 : 1
}

function thinkingUnfinished(text: string): boolean {
  return text.lastIndexOf('<think>') > text.lastIndexOf('</think>')
}

/** The text between the last pair of hint marks if the last boxed value is 1 and it holds one to three sentences. */
export function parseHint(text: string): string | null {
  if (parseBoxed(text) !== 1) return null
  const end = text.lastIndexOf('[HINT_END]')
  const start = end === -1 ? -1 : text.lastIndexOf('[HINT_START]', end)
  if (start === -1) return null
  const hint = text
    .slice(start + '[HINT_START]'.length, end)
    .replace(/\s+/gu, ' ')
    .trim()
  if (hint.length <= minHintCharacters) return null
  const sentences = hint
    .split(/(?<=[.!?。！？])\s*(?=\S)/u)
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
  return sentences.length >= 1 && sentences.length <= maxHintSentences ? hint : null
}
