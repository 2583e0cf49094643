// Extractive hints (DESIGN 6.1a): the sentences a user typed that say how the last reply should have been, stripped of
// greetings and of the task itself. A new request is not a hint; nor is anything quoted, fenced or pasted.
import { contentWords, maskForeign, similarity, typedSentences } from '../../signals/index.ts'
import { parseCheck } from '../checks.ts'
import { matchesAny, wishCues } from './wish-cues.ts'

export interface ExtractedWish {
  readonly text: string
  /** The sentence as typed. */
  readonly quote: string
}

const maxSentences = 40
const maxWishCharacters = 400
const maxStrippedPieces = 8

export function extractWishes(message: string, request: string): ExtractedWish[] {
  const wishes: ExtractedWish[] = []
  const complaints: ExtractedWish[] = []
  for (const { text: quote } of typedSentences(message).slice(0, maxSentences)) {
    if (quote.length > maxWishCharacters) continue
    const text = wishIn(quote, request)
    if (text !== null) {
      wishes.push({ text, quote })
      continue
    }
    const complaint = complaintIn(quote)
    if (complaint !== null) complaints.push({ text: complaint, quote })
  }
  // "Too long. At most 40 words." is one wish, and the second sentence says it better.
  return wishes.length > 0 ? wishes : complaints
}

function wishIn(sentence: string, request: string): string | null {
  const contrast = afterBut.exec(sentence)
  const rest = contrast === null ? null : wishOf(strip(contrast[1] ?? ''), request)
  return rest ?? wishOf(strip(sentence), request)
}

/** "That is good, but …": the wish stands after the "but". */
const afterBut = /[\s,，;；](?:but|however|although|但是?|不过|可是)[\s,，]*(\S.*)$/iu

function wishOf(clause: string, request: string): string | null {
  const rewritten = rewrite(clause)
  if (rewritten !== null) return finished(rewritten)
  const plain = plainOf(clause)
  if (plain === '' || matchesAny('vague', plain) || complaintIn(clause) !== null) return null
  if (matchesAny('task', plain) && !isStyle(plain)) return constraintOf(clause, request)
  if (questionOpening.test(plain)) return null
  if (sharesTask(plain, request) && !startsNegative(plain)) {
    return constraintOf(clause, request)
  }
  const hasAction = matchesAny('action', plain)
  const isWish = isCheckable(clause, hasAction) || (hasAction && matchesAny('target', plain))
  return isWish ? finished(clause) : null
}

/** A quoted phrase counts only in a sentence that asks for it: "he said …" does not. */
function isCheckable(clause: string, hasAction: boolean): boolean {
  if (parseCheck(maskForeign(clause), { reply: 'any reply' }) !== null) return true
  return hasAction && parseCheck(clause) !== null
}

function isStyle(plain: string): boolean {
  return matchesAny('taskStyle', plain) && matchesAny('target', plain) && plain.length < 120
}

function startsNegative(plain: string): boolean {
  return /^(?:don't|do not|never|no |stop|avoid|without|不要|别|避免|停止)/u.test(plain)
}

/** What is still a question without its politeness asks for content. */
const questionOpening =
  /^(?:is|are|was|were|does|do you|did|why|what|how|who|where|when|which)\b|[吗么呢][?？]?$/u

function plainOf(text: string): string {
  return maskForeign(text).replace(/[‘’]/gu, "'").replace(/\s+/gu, ' ').trim().toLowerCase()
}

export function strip(sentence: string): string {
  let text = sentence.replace(/[‘’](?=\p{L})/gu, "'").trim()
  for (let piece = 0; piece < maxStrippedPieces; piece += 1) {
    const before = text
    for (const { lead, tail } of wishCues) {
      const led = text.replace(lead, '').trimStart()
      if (/[\p{L}\p{N}]/u.test(led)) text = led
      const tailed = text.replace(tail, '').trimEnd()
      if (/[\p{L}\p{N}]/u.test(tailed)) text = tailed
    }
    if (text === before) return text
  }
  return text
}

function rewrite(clause: string): string | null {
  for (const { rewrites } of wishCues) {
    for (const [pattern, result] of rewrites) {
      if (pattern.test(clause)) return clause.replace(pattern, result)
    }
  }
  return null
}

function complaintIn(sentence: string): string | null {
  const contrast = afterBut.exec(sentence)
  const clause = stripGreeting(contrast?.[1] ?? sentence)
  for (const { complaints } of wishCues) {
    for (const [pattern, result] of complaints) {
      const match = pattern.exec(clause)
      if (match !== null) return result.replace('$1', match[1] ?? '')
    }
  }
  return null
}

const greeting =
  /^(?:(?:no|nope|hm+|thanks|thank you|ok|okay|sorry|well|but|not bad|good|不对|不行|谢谢|嗯|好的|但是?|不过|可是)[\s,.!;，。！、—-]+|但是|不过|可是)/iu

function stripGreeting(sentence: string): string {
  let text = sentence.trim()
  for (let piece = 0; piece < maxStrippedPieces; piece += 1) {
    const next = text.replace(greeting, '')
    if (next === text) break
    text = next
  }
  return text
}

/** What the sentence shares with the request is the task, and the task is no hint. */
function sharesTask(plain: string, request: string): boolean {
  const words = taskWords(request)
  const shared = taskWords(plain).filter((word) => words.includes(word))
  const cjk = shared.filter((word) => /[\u3400-\u9fff]/u.test(word)).length
  return shared.length - cjk >= 1 || cjk >= 3 || similarity(plain, request) > 0.6
}

const openings =
  /^(?:explain|describe|define|tell|write|translate|summari[sz]e|list|give|show|compare|solve|calculate|find|draft|create|answer|use|say|make|comment|grade)$/u

function taskWords(text: string): string[] {
  return contentWords(text.slice(0, 4_000)).filter(
    (word) => !openings.test(word) && !matchesAny('target', word),
  )
}

/** "Explain osmosis in at most 40 words." after "Explain osmosis." → "In at most 40 words." */
function constraintOf(clause: string, request: string): string | null {
  const repeats = sharesTask(plainOf(clause), request)
  for (const { constraint } of wishCues) {
    const match = constraint.exec(clause)
    if (match === null || constraint.test(request)) continue
    // "Comment on each step in at least 75 words." names no task of its own either.
    if (repeats || taskWords(clause.replace(match[0], ' ')).length === 0) return finished(match[0])
  }
  return null
}

/** Capital letter and full stop, so that hints read as sentences. */
function finished(text: string): string {
  const clean = text
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/[\s.,;:!?。，；：！？]+$/u, '')
  const first = clean.slice(0, 1)
  const end = /[\u3400-\u9fff]["'”’」]?$/u.test(clean) ? '。' : '.'
  return first.toUpperCase() + clean.slice(1) + end
}
