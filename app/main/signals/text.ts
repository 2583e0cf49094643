// Text tools for rules and hints: which characters the user typed himself (not quoted, fenced or pasted),
// sentences with their positions, and the likeness of two texts by shared character n-grams.

/** Stands for characters inside an inline quotation or code span; keeps positions. */
const maskedCharacter = '\uFFFC'

const maxHeadCharacters = 12_000
const maxTailCharacters = 4_000
const longParagraph = 900
const longAfterColon = 160
const cjk = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]/u

export interface Sentence {
  /** As typed. */
  readonly text: string
  /** Lower case, straight quotes, quotations masked: what cues are matched against. */
  readonly plain: string
}

export function hasCjk(text: string): boolean {
  return cjk.test(text)
}

/** Beginning and end of a text too long to have been typed. */
export function withoutMiddle(text: string): string {
  if (text.length <= maxHeadCharacters + maxTailCharacters) return text
  return `${text.slice(0, maxHeadCharacters)}\n\n${text.slice(-maxTailCharacters)}`
}

/** Same length as the input: quoted blocks become line ends, inline quotations become masked characters. */
export function maskForeign(text: string): string {
  let masked = blank(
    text,
    /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|$(?![\s\S]))/gmu,
  )
  masked = blank(masked, /```[\s\S]*?(?:```|$(?![\s\S]))/gu)
  masked = maskPasted(masked)
  for (const pattern of inlineQuotations) {
    masked = masked.replace(pattern, (span) => maskedCharacter.repeat(span.length))
  }
  return masked
}

// Bounded lengths keep the search linear on long input without a closing mark.
const inlineQuotations = [
  /`[^`\n]{1,400}`/gu,
  /"[^"\n]{1,400}"/gu,
  /“[^”\n]{1,400}”/gu,
  /「[^」\n]{1,400}」/gu,
  /『[^』\n]{1,400}』/gu,
  /《[^》\n]{1,400}》/gu,
  /«[^»\n]{1,400}»/gu,
  /(?<=^|[\s(（，：:])[‘'][^'’\n]{1,200}(?:['’](?=\p{L})[^'’\n]{1,200}){0,4}['’](?=$|[\s.,;:!?)，。！？])/gu,
]

function blank(text: string, pattern: RegExp): string {
  return text.replace(pattern, (span) => '\n'.repeat(span.length))
}

const foreignLine =
  /^(?:\s*>|\s{4,}\S|\t|\s*\|.*\||\s*at \S+ ?\(|Traceback |\s*File "|(?:From|To|Subject|Date|Sent): |\s*[$#] \S|\d{4}-\d\d-\d\d[ T]\d\d:)/u

/** Quoted lines, logs, what follows a "…:" line at length, and long paragraphs beside typed ones. */
function maskPasted(text: string): string {
  const paragraphs = text.split(/(\n[ \t]*\n)/u)
  const many = paragraphs.filter((paragraph) => paragraph.trim() !== '').length > 1
  let pasting = false
  const kept = paragraphs.map((paragraph) => {
    if (paragraph.trim() === '') return paragraph
    if (
      (pasting && paragraph.length > longAfterColon) ||
      (many && paragraph.length > longParagraph)
    ) {
      pasting = true
      return '\n'.repeat(paragraph.length)
    }
    pasting = /[:：]\s*$/u.test(paragraph)
    return maskLines(paragraph)
  })
  return kept.join('')
}

function maskLines(paragraph: string): string {
  const lines = paragraph.split('\n')
  let announced = -1
  return lines
    .map((line, index) => {
      if (foreignLine.test(line)) return '\n'.repeat(line.length)
      const rest = announced >= 0 ? lines.slice(announced + 1).join('\n') : ''
      if (rest.length > longAfterColon) return '\n'.repeat(line.length)
      if (announced < 0 && /[:：]\s*$/u.test(line)) announced = index
      return line
    })
    .join('\n')
}

const sentenceEnd = /[!?。！？；;…]+["'”’)）]*|\.(?=\s|$|["'”’)）])["'”’)）]*|\n+/gu
const abbreviation = /(?:^|\s)(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|no|approx|cf)\.$/iu

/** The sentences that the user typed, in order. */
export function typedSentences(message: string): Sentence[] {
  const text = withoutMiddle(message)
  const masked = maskForeign(text)
  const found: Sentence[] = []
  let start = 0
  const take = (end: number): void => {
    const sentence = sentenceAt(text, masked, [start, end])
    if (sentence !== null) found.push(sentence)
    start = end
  }
  for (const match of masked.matchAll(sentenceEnd)) {
    const end = match.index + match[0].length
    if (abbreviation.test(masked.slice(Math.max(start, end - 8), end)) && end - start > 4) continue
    take(end)
  }
  take(text.length)
  return found
}

function sentenceAt(
  text: string,
  masked: string,
  [start, end]: readonly [number, number],
): Sentence | null {
  const part = masked.slice(start, end)
  if (!/[\p{L}\p{N}]/u.test(part)) return null
  const leading = part.length - part.trimStart().length
  const from = start + leading
  const to = from + part.trim().length
  return { text: text.slice(from, to), plain: plainForm(masked.slice(from, to)) }
}

function plainForm(text: string): string {
  return text.replace(/[‘’]/gu, "'").replace(/\s+/gu, ' ').toLowerCase()
}

/** Letters and digits only, one space between words, compatible forms folded. */
export function normalise(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/['’]/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

const maxComparedCharacters = 4_000

/** 0–1: the Dice coefficient of character trigrams (bigrams where there are Chinese characters). */
export function similarity(a: string, b: string): number {
  const left = normalise(a.slice(0, maxComparedCharacters))
  const right = normalise(b.slice(0, maxComparedCharacters))
  if (left === '' || right === '') return 0
  if (left === right) return 1
  const size = hasCjk(left) || hasCjk(right) ? 2 : 3
  const leftGrams = grams(left, size)
  const rightGrams = grams(right, size)
  let shared = 0
  for (const [gram, count] of leftGrams.counts) {
    shared += Math.min(count, rightGrams.counts.get(gram) ?? 0)
  }
  return (2 * shared) / (leftGrams.total + rightGrams.total)
}

function grams(text: string, size: number): { counts: Map<string, number>; total: number } {
  const padded = ` ${text} `
  const counts = new Map<string, number>()
  let total = 0
  for (let index = 0; index + size <= padded.length; index += 1) {
    const gram = padded.slice(index, index + size)
    counts.set(gram, (counts.get(gram) ?? 0) + 1)
    total += 1
  }
  return { counts, total }
}
