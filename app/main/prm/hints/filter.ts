// The plain rule filter of DESIGN 6.2. Hard faults give quality 0; otherwise a logistic model with fixed weights over
// transparent features. Below `vetoBelow` the caller stores the hint as vetoed by the filter and shows the reasons.
import { maskForeign, similarity } from '../../signals/index.ts'
import { parseCheck } from '../checks.ts'
import { secretKinds } from '../secrets.ts'
import { countWords } from '../words.ts'
import { matchesAny } from './wish-cues.ts'

export const vetoBelow = 0.3

export interface HintContext {
  readonly request: string
  readonly reply: string
}

export interface HintQuality {
  /** 0–1. */
  readonly quality: number
  /** Sentences without a full stop, for people. */
  readonly reasons: string[]
}

const maxHintWords = 120
const maxReadCharacters = 6_000

/** Chosen by hand so that action + target passes, a target alone just passes, an action alone does not. */
const weights = {
  bias: -2.8,
  action: 1.8,
  target: 2.2,
  check: 0.6,
  vague: -2.5,
  copiesReply: -2,
  repeatsRequest: -2.5,
  long: -3,
} as const

export function rateHint(hint: string, context: HintContext): HintQuality {
  const text = hint.slice(0, maxReadCharacters).replace(/\s+/gu, ' ').trim()
  const faults = hardFaults(text, context)
  if (faults.length > 0) return { quality: 0, reasons: faults }
  return softQuality(text, hint, context)
}

const systemAddress =
  /\b(?:ignore|disregard|forget|override|bypass|disable)\b.{0,40}\b(?:instructions?|rules?|prompts?|guidelines?|safety|polic(?:y|ies)|restrictions?|filters?|training|everything (?:above|before))\b|\bsystem (?:prompt|message)\b|\b(?:you are now|from now on you are|pretend (?:to be|you are|that you)|act as if you (?:have|had) no|jailbreak|developer mode|do anything now)\b|\bwithout (?:any )?(?:restrictions?|censorship|safety|filters?)\b|\b(?:reveal|print|show|repeat) your (?:system|hidden|initial|secret)\b|<\|[a-z_]+\|>|\[\/?INST\]|\[HINT_|\\boxed\{|(?:忽略|无视|忘记|忘掉|绕过|取消|解除|关闭).{0,12}(?:指令|指示|规则|提示词?|设定|限制|安全|审查|过滤|要求)|系统(?:提示|消息|指令)|你现在是|假装你?是|越狱|开发者模式/iu

const answerGiven =
  /\b(?:the|correct|right|your) (?:correct |right |final )?(?:answer|result|solution) (?:is|was|should (?:be|have been)|equals)\b|\b(?:it|that|x|y) (?:is|should be|should have been|equals|=) ?[-$]?\d|=\s?-?\d|(?:正确|标准)?(?:答案|结果)(?:是|应该?是|应为|为|等于)|应该?(?:是|等于|为) ?-?\d/iu

function hardFaults(text: string, { request }: HintContext): string[] {
  if (!/[\p{L}\p{N}]/u.test(text)) return ['it is empty']
  const faults = secretKinds(text).map((kind) => `it contains a secret (${kind})`)
  if (systemAddress.test(text)) faults.push('it addresses the system, not the reply')
  if (answerGiven.test(text)) faults.push('it gives away the answer')
  else if (/\d/u.test(request) && hasLooseNumber(text)) {
    faults.push('it may give away a number of the answer')
  }
  return faults
}

const formNumber =
  /\d+(?:[.,]\d+)?(?:%|st|nd|rd|th)?[ -]?(?:to \d+ )?(?:words?|sentences?|lines?|paragraphs?|characters?|letters?|steps?|examples?|decimals?|decimal places|digits?|points?|items?|bullets?|pages?|columns?|rows?|spaces?|个|字|句|行|段|步|位|条|点|词|例)|\b(?:python|utf-|c\+\+|es|h|step |grade |year )-?\d+(?:\.\d+)?/giu

function hasLooseNumber(text: string): boolean {
  return /\d/u.test(text.replace(formNumber, ' '))
}

function softQuality(text: string, whole: string, { request, reply }: HintContext): HintQuality {
  const plain = maskForeign(text).replace(/[‘’]/gu, "'").toLowerCase().trim()
  const check = parseCheck(text, { reply }) !== null
  const features = {
    action: check || matchesAny('action', plain) || / (?:should|must|always|never) /u.test(plain),
    target: check || matchesAny('target', plain),
    check,
    vague: matchesAny('vague', plain),
    copiesReply: similarity(text, reply) > 0.5,
    repeatsRequest: similarity(text, request) > 0.7,
    long: countWords(whole.slice(0, 60_000)) > maxHintWords,
  }
  let sum: number = weights.bias
  for (const [name, present] of Object.entries(features)) {
    if (present) sum += weights[name as keyof typeof features]
  }
  return { quality: 1 / (1 + Math.exp(-sum)), reasons: reasonsOf(features) }
}

function reasonsOf(features: Readonly<Record<string, boolean>>): string[] {
  const sentences: readonly (readonly [boolean | undefined, string])[] = [
    [features['action'], 'names an action'],
    [features['action'] === false, 'names no action'],
    [features['target'], 'names something concrete'],
    [features['target'] === false, 'names nothing concrete'],
    [features['check'], 'can be checked by a rule'],
    [features['vague'], 'is only praise or blame'],
    [features['copiesReply'], 'repeats the reply'],
    [features['repeatsRequest'], 'repeats the request'],
    [features['long'], `is longer than ${maxHintWords} words`],
  ]
  return sentences.flatMap(([holds, sentence]) => (holds === true ? [sentence] : []))
}
