// When two wishes are the same, and when they cannot both be met. Checks decide where texts have one; texts otherwise.
import type { Check } from '../../shared/domain/check.ts'
import { contentWords, normalise, similarity } from '../signals/index.ts'
import { parseCheck } from './checks.ts'

const sameTextSimilarity = 0.6
const oppositeSimilarity = 0.5

/** Words that only pad a wish; the same wish is said with and without them. */
const padding =
  /\b(?:please|just|only|always|next time|from now on|in (?:the )?future|thanks|can you|could you|i (?:want|need|prefer)|i'd like|the (?:answer|reply|response)|your (?:answers?|repl(?:y|ies))|it|any|use|using|write|in|with)\b|请|麻烦|以后|下次|谢谢|一下|你|回答|使用|用|写|吧/giu
const negation =
  /\b(?:no|not|don't|dont|do not|doesn't|never|without|avoid|stop|skip|drop|remove|leave out|less|fewer)\b|不要|不用|别|避免|停止|没有|去掉|少/giu

export function sameWish(a: string, b: string): boolean {
  if (normalise(a) === normalise(b)) return normalise(a) !== ''
  const left = parseCheck(a)
  const right = parseCheck(b)
  if (left !== null && right !== null) return sameCheck(left, right)
  if (lengthDirection(a) !== null || lengthDirection(b) !== null) {
    // "Shorter" and "at most 40 words" stay two notes: only one of them has a number to keep to.
    if ((left === null) !== (right === null)) return false
    if (lengthDirection(a) !== lengthDirection(b)) return false
    if (lengthOnly(a) && lengthOnly(b)) return true
  }
  if (isNegative(a) !== isNegative(b) || numbersOf(a) !== numbersOf(b)) return false
  return similarity(core(a), core(b)) > sameTextSimilarity && !exchangesWord(a, b)
}

export function contradicts(a: string, b: string): boolean {
  if (sameWish(a, b)) return false
  const left = facets(a)
  const right = facets(b)
  for (const [facet, value] of left) {
    const other = right.get(facet)
    if (other !== undefined && clash(facet, value, other)) return true
  }
  if (isNegative(a) === isNegative(b)) return false
  return similarity(bare(a), bare(b)) > oppositeSimilarity && !exchangesWord(bare(a), bare(b))
}

/** Two limits of the same kind clash as well: only one can be kept to, and the newer is meant. */
function clash(facet: string, a: string, b: string): boolean {
  if (facet !== 'length') return a !== b
  const [left, right] = [bound(a), bound(b)]
  if (left.side !== right.side) {
    if (left.words === null || right.words === null) return true
    return left.side === 'max' ? right.words > left.words : left.words > right.words
  }
  return left.words !== null && right.words !== null && left.words !== right.words
}

function bound(value: string): { side: string; words: number | null } {
  const [side = '', words = ''] = value.split(':')
  return { side, words: words === '' ? null : Number(words) }
}

export function sameCheck(a: Check, b: Check): boolean {
  if (a.kind !== b.kind) return false
  if ('words' in a && 'words' in b) return a.words === b.words
  if ('phrase' in a && 'phrase' in b) return normalise(a.phrase) === normalise(b.phrase)
  return true
}

const pairs: readonly (readonly [string, RegExp, RegExp])[] = [
  [
    'style',
    /\b(?:formal|professional)\b|正式/iu,
    /\b(?:informal|casual|less formal|relaxed)\b|口语|随和|不那么正式|不要(?:太|这么)正式/iu,
  ],
  [
    'depth',
    /\b(?:simple|simpler|plain|everyday) (?:words|language|terms|english)\b|简单的?语言|通俗/iu,
    /\b(?:more technical|technical terms|technical language)\b|更专业|专业术语/iu,
  ],
  ['language', /\bin english\b|英文|英语/iu, /\bin chinese\b|中文|汉语/iu],
  [
    'order',
    /\b(?:answer|conclusion|command|code|result) first\b|先(?:给|说|写)(?:出)?(?:答案|结论|命令|代码)/iu,
    /\b(?:explanation|reasoning|steps) first\b|\b(?:answer|conclusion) (?:last|at the end)\b|先(?:给|说|写)(?:出)?(?:解释|过程|步骤)/iu,
  ],
]

/** What a wish fixes: facet → the side it takes. */
function facets(text: string): Map<string, string> {
  const found = new Map<string, string>()
  const check = parseCheck(text)
  if (check !== null) addCheck(found, check)
  if (!found.has('length')) {
    const direction = lengthDirection(text)
    if (direction !== null) found.set('length', direction)
  }
  const negative = isNegative(text)
  if (!found.has('lists') && listWords.test(text)) found.set('lists', negative ? 'no' : 'yes')
  if (!found.has('bold') && boldWords.test(text)) found.set('bold', negative ? 'no' : 'yes')
  for (const [facet, one, other] of pairs) {
    const match = other.exec(text) ?? one.exec(text)
    if (match === null) continue
    const isOther = other.test(text)
    const refused = isNegative(text.replace(match[0], ' '))
    found.set(facet, isOther === refused ? 'first' : 'second')
  }
  return found
}

const listWords = /\b(?:lists?|bullets?|bullet[- ]points?)\b|列表|项目符号|分点|要点/iu
const boldWords = /\bbold\b|加粗|粗体/iu

function addCheck(found: Map<string, string>, check: Check): void {
  switch (check.kind) {
    case 'max-words':
    case 'min-words':
      found.set('length', `${check.kind.slice(0, 3)}:${check.words}`)
      break
    case 'no-lists':
      found.set('lists', 'no')
      break
    case 'no-bold':
      found.set('bold', 'no')
      break
    case 'contains':
    case 'lacks':
      found.set(`phrase ${normalise(check.phrase)}`, check.kind)
  }
}

/** A reply of a hundred words stands in, so that "shorter" and "longer" show which way they point. */
const hundredWords = 'word '.repeat(100)

function lengthDirection(text: string): 'max' | 'min' | null {
  const check = parseCheck(text, { reply: hundredWords })
  if (check?.kind === 'max-words') return 'max'
  return check?.kind === 'min-words' ? 'min' : null
}

/** Nothing but the length is spoken of. */
function lengthOnly(text: string): boolean {
  return contentWords(text).length <= 6
}

function isNegative(text: string): boolean {
  negation.lastIndex = 0
  return negation.test(
    text.replace(/[‘’]/gu, "'").replace(/\bno (?:more|longer) than\b|不超过/giu, ''),
  )
}

function numbersOf(text: string): string {
  return (text.match(/\d+|[一二三四五六七八九十百]+(?=[字句个])/gu) ?? []).join(' ')
}

function core(text: string): string {
  return text.replace(/[‘’]/gu, "'").replace(padding, ' ')
}

function bare(text: string): string {
  return core(text).replace(negation, ' ')
}

/** "Start with the code" and "start with the answer" share most letters and are two wishes. */
function exchangesWord(a: string, b: string): boolean {
  const [left, right] = [latinWords(a), latinWords(b)]
  const lacks = (words: readonly string[], others: readonly string[]): boolean =>
    words.some((word) => !others.some((other) => similarity(word, other) > 0.4))
  return lacks(left, right) && lacks(right, left)
}

function latinWords(text: string): string[] {
  return contentWords(core(text)).filter((word) => !/[\u3400-\u9fff]/u.test(word))
}
