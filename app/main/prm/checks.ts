// A wish in words → a rule that can be checked without a model (length, lists, bold, a required or forbidden phrase).
// What is not understood gives null: a note without a check, never a wrong check.
import type { Check } from '../../shared/domain/check.ts'
import { countWords, hasBold, hasList, parseNumber } from './words.ts'

export interface CheckContext {
  /** The rejected reply: what "shorter" and "longer" are measured against. */
  readonly reply?: string
}

/** "Shorter" must be seen at a glance, so it means well under the old length. */
const shorterShare = 0.6
const longerShare = 1.5
const maxTextCharacters = 2_000

export function parseCheck(text: string, context: CheckContext = {}): Check | null {
  const raw = text.slice(0, maxTextCharacters).replace(/\s+/gu, ' ')
  const plain = raw.replace(/[‘’]/gu, "'").toLowerCase()
  return (
    phraseCheck(raw) ?? lengthCheck(plain) ?? layoutCheck(plain) ?? relativeCheck(plain, context)
  )
}

const number =
  '(\\d{1,5}|[零一二两三四五六七八九十百千]{1,7}|(?:a |one |two |three |four |five |six |seven |eight |nine )?hundred(?: and)?(?: [a-z]{3,9}(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)?|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen))'
const unit = '(?:[- ](?:words?|word answer)| ?(?:个)?(?:字|词))'

const negated = "\\b(?:no|not|never|don't|do not|doesn't|shouldn't|mustn't|without)"

interface LengthPattern {
  readonly pattern: RegExp
  readonly kind: 'max-words' | 'min-words'
  /** Added to the number: "under 50" allows 49. */
  readonly shift: number
}

function lengthPattern(source: string, kind: LengthPattern['kind'], shift = 0): LengthPattern {
  return { pattern: new RegExp(source.replaceAll('#', number), 'u'), kind, shift }
}

// Order matters: "no more than" before "more than", "不少于" before "少于".
const lengthPatterns: readonly LengthPattern[] = [
  lengthPattern(
    `${negated}(?: [a-z]+){0,4} (?:more|longer) than # ?${unit}|(?:${negated}(?: [a-z]+){0,3} |without )(?:go(?:ing)? (?:over|above|beyond)|exceed(?:ing)?|pass(?:ing)?) #${unit}`,
    'max-words',
  ),
  lengthPattern(`${negated}(?: [a-z]+){0,4} (?:less|fewer|shorter) than # ?${unit}`, 'min-words'),
  lengthPattern(`${negated}(?: [a-z]+){0,4} (?:under|below) #${unit}`, 'min-words'),
  lengthPattern(`(?:不|别|勿)[^，。]{0,4}(?:超过|超出|多于|大于|高于)#个?[字词]`, 'max-words'),
  lengthPattern(`(?:不|别|勿)[^，。]{0,4}(?:少于|小于|低于)#个?[字词]`, 'min-words'),
  lengthPattern(`(?:no|not) (?:more|longer) than # ?${unit}`, 'max-words'),
  lengthPattern(`(?:no|not) (?:less|fewer|shorter) than # ?${unit}`, 'min-words'),
  lengthPattern(`(?:at least|min(?:imum)?(?: of)?|not under) #${unit}`, 'min-words'),
  lengthPattern(
    `(?:at most|max(?:imum)?(?: of)?|up to|within|(?:stay|keep|remain)(?: [a-z]+){0,3} (?:within|to|at)|limit(?:ed)?(?: it| this| yourself| the answer)? to|(?:keep|cut|trim|shorten|get|bring)(?: it| this| that| them| your (?:answers?|repl(?:y|ies)))?(?: down)? to|between [\\w-]{1,12} and) (?:at most |about |around |only )?#${unit}`,
    'max-words',
  ),
  lengthPattern(`(?:under|below|less than|fewer than|shorter than) #${unit}`, 'max-words', -1),
  lengthPattern(`(?:over|more than|longer than|above) #${unit}`, 'min-words', 1),
  lengthPattern(
    `#${unit},? (?:or (?:less|fewer|under|shorter)|at (?:the )?most|max(?:imum)?|tops|limit|not more|no more)`,
    'max-words',
  ),
  lengthPattern(`#${unit} (?:or (?:more|longer)|at least|min(?:imum)?)`, 'min-words'),
  lengthPattern(
    `(?:^|[ ,])(?:in|use|using|with|only|just) (?:just |only |exactly )?#${unit}`,
    'max-words',
  ),
  lengthPattern(`(?:不少于|至少|最少|不低于|不要少于|起码)(?:写|用|要|有)?#个?[字词]`, 'min-words'),
  lengthPattern(`(?:超过|多于|大于)#个?[字词]`, 'min-words', 1),
  lengthPattern(
    `(?:不要?超过|别超过|不能超过|不多于|最多|至多|控制在|限制在|限|压缩到|缩短到|缩到|精简到)(?:用|写|在)?#个?[字词]`,
    'max-words',
  ),
  lengthPattern(`(?:少于|小于|低于)#个?[字词]`, 'max-words', -1),
  lengthPattern(`#个?[字词](?:以内|之内|以下|内|封顶)`, 'max-words'),
  lengthPattern(`#个?[字词](?:以上|起)`, 'min-words'),
  lengthPattern(`用#个?[字词]`, 'max-words'),
]

function lengthCheck(text: string): Check | null {
  for (const { pattern, kind, shift } of lengthPatterns) {
    const match = pattern.exec(text)
    const value = match === null ? null : parseNumber(match[1] ?? match[2] ?? '')
    if (value === null) continue
    const words = value + shift
    return words > 0 ? { kind, words } : null
  }
  return null
}

const listWord =
  '(?:(?:bulleted|bullet|numbered|ordered|markdown|long|more|any|a|the|these|those) )*(?:lists?|bullets?|bullet[- ]?points?|bulleting|listing)'
const boldWord =
  '(?:(?:any|the|so much|more) )*(?:bold(?:ed|ing)?(?: text| words| type| face)?|bold)'
const without =
  "(?:no|not in|not as|without|avoid|skip|drop|remove|stop(?: using| writing| with| making)?|never(?: use| write)?|(?:don't|do not|doesn't|not)(?: use| make| write| give(?: me)?| want| need| answer (?:in|with)| reply (?:in|with)| put)?|instead of|rather than|no more)"
const withoutZh =
  '(?:不要|不用|别|不许|不准|避免|停止|没有|去掉|取消|无需|勿)(?:再)?(?:使用|用|写成|写|列成|列|加|出现|做|分成)?'

const noLists = new RegExp(
  `${without} (?:in )?${listWord}\\b|\\bplain (?:sentences|prose|text|paragraphs?)\\b|\\b(?:in|as|use|using|write|with) (?:full |complete |normal |flowing |continuous )?(?:sentences|prose|paragraphs)\\b|\\b(?:full|complete|flowing|continuous|ordinary|normal) (?:sentences|prose|paragraphs)\\b|${withoutZh}(?:任何)?(?:项目符号|列表|清单|条目|分点|要点|序号|编号|逐条|分条)|(?:完整|连贯|自然|普通|流畅|通顺)的?(?:句子|段落|语句)|用(?:段落|句子)|以段落`,
  'u',
)
const noBold = new RegExp(
  `${without} (?:use |using )?${boldWord}\\b|${without} (?:highlight(?:ing)? )?(?:asterisks|double asterisks|stars)\\b|${withoutZh}(?:任何)?(?:加粗|粗体|黑体)`,
  'u',
)

function layoutCheck(text: string): Check | null {
  if (noLists.test(text)) return { kind: 'no-lists' }
  if (noBold.test(text)) return { kind: 'no-bold' }
  return null
}

const partNotWhole = '(?! (?:sentences?|paragraphs?|words?|steps?|lines?|names?|titles?|comments?))'
const shorter = new RegExp(
  `\\b(?:shorter|briefer|more concise|more brief|less (?:long|wordy|verbose)|half as long|(?:be|keep it|make it|more|very) (?:brief|short|concise))\\b${partNotWhole}|\\btoo (?:long|wordy|verbose)\\b|\\b(?:shorten|condense|trim)\\b|太长|太?(?:啰嗦|罗嗦|冗长)|(?:更|再)?(?:简短|短|简洁|精简)(?:一?点|一?些)|更(?:简短|短|简洁)|(?<!不要)(?:缩短|精简)`,
  'u',
)
const longer = new RegExp(
  `\\b(?:longer|more (?:detailed|detail|details)|expand|elaborate)\\b${partNotWhole}|\\btoo (?:short|brief)\\b|太短|太简略|(?:更|再)?(?:长|详细)(?:一?点|一?些)|更(?:长|详细)`,
  'u',
)

/** "It is longer than I need" states, it does not ask. */
const statement =
  /(?:\b(?:is|are|was|were)|'s)(?: much| way| far| a lot| a bit)? (?:longer|shorter|briefer)\b/gu
const refused = /\b(?:no|not|don't make it) longer\b|别太长|不要太长/gu

function relativeCheck(text: string, { reply }: CheckContext): Check | null {
  if (reply === undefined) return null
  const words = countWords(reply)
  if (words === 0) return null
  const wish = text.replace(statement, ' ')
  const wantsShorter = shorter.test(wish)
  const wantsLonger = longer.test(wish.replace(refused, ' '))
  if (wantsShorter === wantsLonger) return null
  return wantsShorter
    ? { kind: 'max-words', words: Math.max(1, Math.floor(words * shorterShare)) }
    : { kind: 'min-words', words: Math.ceil(words * longerShare) }
}

const quoted = `(?:"([^"]{1,120})"|“([^”]{1,120})”|「([^」]{1,120})」|[‘']((?:[^'’]|['’](?=\\p{L})){1,120})['’](?!\\p{L}))`
const lacksPhrase = new RegExp(
  `(?:\\b(?:don't|don’t|do not|never|stop|avoid|without|no more|not|no)(?: (?:ever|again|always))?(?: (?:say|saying|use|using|write|writing|start|starting|begin|beginning|end|ending|include|including|mention|mentioning|add|adding))?(?: (?:with|by|the|a|any|word|words|phrase|phrases|saying|sentence|expression|of))*|${withoutZh}(?:说|写|用|出现|提|包含|加上|以|说出)?(?:这个?|“?)?(?:词|短语|句话)?)[:：]? ?${quoted}`,
  'iu',
)
const containsPhrase = new RegExp(
  `(?:\\b(?:say|saying|includ(?:e|ing)|use|using|add|adding|writ(?:e|ing)|start(?:ing)?|begin(?:ning)?|end(?:ing)?|finish(?:ing)?|open(?:ing)?|close|closing|mention|put|contain(?:s|ing)?|with)(?: (?:always|also|it|them|your|each|every|answer|answers|reply|replies|with|by|the|a|exact|word|words|phrase|phrases|saying|sentence|expression|of|something|like|as|off|out))*|(?:说|写上?|加上?|加入|包含|包括|带上|使用|用|以|出现|提到|写出)(?:一句|一个|这个?|上)?(?:词语?|短语|句话|话)?)[:：]? ?${quoted}`,
  'iu',
)
const barePhrase =
  /\b(don't |do not |never |avoid |without )?(?:say|saying|include|including|use|using|add|avoid|the)(?: the)? (?:exact )?(?:phrase|words|word|expression)s? ([\p{L}][\p{L}'’-]*(?: [\p{L}][\p{L}'’-]*){0,4})(?= ?[.,!;]|$)/iu

function phraseCheck(text: string): Check | null {
  const forbidden = lacksPhrase.exec(text)
  if (forbidden !== null) return phraseOf('lacks', forbidden.slice(1))
  const required = containsPhrase.exec(text)
  if (required !== null) return phraseOf('contains', required.slice(1))
  const bare = barePhrase.exec(text)
  if (bare === null) return null
  const negative = bare[1] !== undefined || /^avoid/iu.test(bare[0])
  return phraseOf(negative ? 'lacks' : 'contains', [bare[2]])
}

function phraseOf(
  kind: 'contains' | 'lacks',
  groups: readonly (string | undefined)[],
): Check | null {
  const found = groups
    .find((group) => group !== undefined)
    ?.trim()
    .replace(/[.,;:，。；：]+$/u, '')
  return found === undefined || found === '' ? null : { kind, phrase: found }
}

export function satisfies(check: Check, reply: string): boolean {
  switch (check.kind) {
    case 'max-words':
      return reply.trim() !== '' && countWords(reply) <= check.words
    case 'min-words':
      return countWords(reply) >= check.words
    case 'no-lists':
      return !hasList(reply)
    case 'no-bold':
      return !hasBold(reply)
    case 'contains':
      return folded(reply).includes(folded(check.phrase))
    case 'lacks':
      return !folded(reply).includes(folded(check.phrase))
  }
}

/** Case, curly quotes, Markdown emphasis and line breaks do not matter inside a phrase. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’]/gu, "'")
    .replace(/[*_]+/gu, '')
    .replace(/\s+/gu, ' ')
}

export function describeCheck(check: Check): string {
  switch (check.kind) {
    case 'max-words':
      return `at most ${check.words} ${check.words === 1 ? 'word' : 'words'}`
    case 'min-words':
      return `at least ${check.words} ${check.words === 1 ? 'word' : 'words'}`
    case 'no-lists':
      return 'no lists'
    case 'no-bold':
      return 'no bold text'
    case 'contains':
      return `contains “${check.phrase}”`
    case 'lacks':
      return `does not contain “${check.phrase}”`
  }
}
