// The rules of DESIGN 5.2: small pure functions over the next state. A rule returns null when it is not sure.
// They see only what the user typed; quoted, fenced and pasted text cannot make them speak.
import type { NextState } from '../../shared/contract/prm.ts'
import type { NewVote } from '../../shared/domain/turn.ts'
import { contentWords } from './content-words.ts'
import { firstCue, languages } from './cues.ts'
import { followRules } from './follow-ups.ts'
import type { Rule, RuleVerdict } from './rule.ts'
import { hasCjk, similarity, typedSentences, type Sentence } from './text.ts'

const repeatSimilarity = 0.6
/** From here on two texts are the same request even if a word was exchanged. */
const sameTextSimilarity = 0.9
/** A cue further down a long message is about the message's own subject more often than about the reply. */
const judgedSentences = 4
/** Two long words count as one when they are this alike (a typing error, a plural). */
const sameWordSimilarity = 0.5

function userTexts(state: NextState): string[] {
  return state.messages.filter(({ role }) => role === 'user').map(({ text }) => text)
}

/** The first sentences of each user message; a bare yes or no to a question of the reply is no judgement of it. */
function openings(state: NextState): Sentence[][] {
  const asked = /[?？]["'”’)）*_\s]*$/u.test(state.reply.slice(-200))
  return userTexts(state).map((text) => {
    const sentences = typedSentences(text).slice(0, judgedSentences)
    return asked ? sentences.flatMap(withoutAnswer) : sentences
  })
}

const answer =
  /^(?:(?:no+|nope|nah|yes|yep|yeah|right|correct|ok|okay|exactly|good)(?:[\s,.!;]+|$)|(?:不是的?|不用?|对的?|是的?|可以|好的?|没错)(?:[\s，,。！!；]+|$))/u

function withoutAnswer(sentence: Sentence): Sentence[] {
  const plain = sentence.plain.replace(answer, '')
  return plain === '' ? [] : [{ ...sentence, plain }]
}

function firstMatch(
  state: NextState,
  find: (sentence: Sentence, index: number) => string | null,
): string | null {
  for (const sentences of openings(state)) {
    for (const [index, sentence] of sentences.entries()) {
      const cue = find(sentence, index)
      if (cue !== null) return cue
    }
  }
  return null
}

/**
 * The user asks the same again. A client's own retry never gets here: it carries no reply before it.
 * Another task of the same form ("12 + 5?" after "12 + 7?") exchanges a content word and is not a repeat.
 */
function repeatsRequest(state: NextState): RuleVerdict | null {
  if (state.request.trim() === '') return null
  for (const text of userTexts(state)) {
    const likeness = similarity(state.request, text)
    if (likeness <= repeatSimilarity) continue
    if (likeness < 1 && numbersDiffer(state.request, text)) continue
    if (likeness < sameTextSimilarity && exchangesContent(state.request, text)) continue
    return { value: -1, cue: `repeats the request (${likeness.toFixed(2)})` }
  }
  return null
}

function numbersDiffer(a: string, b: string): boolean {
  const numbers = (text: string): string => (text.match(/\d+(?:\.\d+)?/gu) ?? []).join(' ')
  return numbers(a) !== numbers(b)
}

function exchangesContent(a: string, b: string): boolean {
  return lacksWords(a, b) && lacksWords(b, a)
}

function lacksWords(text: string, other: string): boolean {
  const others = contentWords(other.slice(0, 4_000))
  const known = new Set(others)
  return contentWords(text.slice(0, 4_000)).some(
    (word) =>
      !known.has(word) &&
      (hasCjk(word) ||
        !others.some((candidate) => similarity(word, candidate) >= sameWordSimilarity)),
  )
}

function correctsReply(state: NextState): RuleVerdict | null {
  const cue = firstMatch(state, ({ plain }) => firstCue('correction', plain))
  return cue === null ? null : { value: -1, cue }
}

/** A change request is negative, never a neutral new instruction. */
function asksForChange(state: NextState): RuleVerdict | null {
  const cue =
    firstMatch(state, ({ plain }) => firstCue('change', plain)) ??
    firstMatch(state, ({ plain }) => limitWithoutTask(plain, state.request))
  return cue === null ? null : { value: -1, cue }
}

/** "Explain inflation in at most 40 words." sets a limit for something new and says nothing about the reply. */
function limitWithoutTask(plain: string, request: string): string | null {
  const cue = firstCue('limit', plain)
  if (cue === null || !requestOpening.test(plain)) return cue
  const known = new Set(topicUnits(request))
  const rest = topicUnits(plain.replace(cue, ' ')).filter((word) => !known.has(word))
  return rest.length === 0 ? cue : null
}

interface Approval {
  readonly cue: string
  /** What follows a "but". */
  readonly rest: string | null
}

/** Thanks open a message; at the end of a new request they are mere politeness. */
function approvalIn(sentences: readonly Sentence[]): Approval | null {
  for (const [index, sentence] of sentences.entries()) {
    const cue = firstCue('approval', sentence.plain)
    if (cue === null) continue
    if (
      index > 0 &&
      sentences.slice(0, index).some(({ plain }) => firstCue('approval', plain) === null)
    ) {
      return null
    }
    return { cue, rest: restAfterBut(sentences.slice(index)) }
  }
  return null
}

function restAfterBut(sentences: readonly Sentence[]): string | null {
  for (const { plain } of sentences) {
    for (const { contrast, contrastExcept } of languages) {
      const match = contrast.exec(plain)
      if (match === null || contrastExcept.test(plain)) continue
      return plain.slice(match.index)
    }
  }
  return null
}

function approvesReply(state: NextState): RuleVerdict | null {
  for (const sentences of openings(state)) {
    const approval = approvalIn(sentences)
    if (approval === null || approval.rest !== null) continue
    const withWish = sentences.some(
      ({ plain }) =>
        firstCue('doubt', plain) !== null ||
        firstCue('correction', plain) !== null ||
        firstCue('change', plain) !== null ||
        languages.some(({ later }) => later.test(plain)),
    )
    if (!withWish) return { value: 1, cue: approval.cue }
  }
  return null
}

function thanksBut(state: NextState): RuleVerdict | null {
  for (const sentences of openings(state)) {
    const approval = approvalIn(sentences)
    if (approval?.rest != null) return { value: -1, cue: `${approval.cue} … ${approval.rest}` }
  }
  return null
}

/** Said in words, or a complete request of its own that shares no content word with the last exchange. */
function changesTopic(state: NextState): RuleVerdict | null {
  const cue = firstMatch(state, ({ plain }, index) => (index > 1 ? null : firstCue('topic', plain)))
  if (cue !== null) return { value: 0, cue }
  const texts = userTexts(state)
  const [text] = texts
  if (text === undefined || texts.length !== 1 || state.request.trim() === '') return null
  if (correctsReply(state) !== null || asksForChange(state) !== null) return null
  return standsAlone(text, `${state.request}\n${state.reply}`)
    ? { value: 0, cue: 'shares no word with the last exchange' }
    : null
}

const requestOpening =
  /^(?:(?:please|can you|could you|would you|now|hi|hello|hey)[,.! ]+)*(?:explain|describe|define|tell me|write|translate|summari[sz]e|list|give me|show me|compare|solve|calculate|find|draft|create|comment|grade|what(?:'s| is| are| was| were| does| do| did)|who|where|when|why|how)\b|^(?:请|帮我|麻烦你?)?(?:解释|说明|介绍|写|翻译|总结|列出|比较|计算|求|描述|告诉我|什么是|谁|为什么|怎么|如何)|(?:是什么|什么意思|怎么办|怎么做|为什么|哪里|多少)[^。]{0,12}[？?]?$/u

function standsAlone(text: string, exchange: string): boolean {
  const sentences = typedSentences(text)
  const [first] = sentences
  if (first === undefined || !requestOpening.test(first.plain)) return false
  if (languages.some(({ backReference }) => backReference.test(first.plain))) return false
  const words = topicUnits(first.plain)
  const known = new Set(topicUnits(exchange.slice(0, maxComparedCharacters)))
  return words.length > 0 && words.every((word) => !known.has(word))
}

const maxComparedCharacters = 20_000
const requestWords = new Set(
  'explain describe define tell write translate summarize summarise list give show compare solve calculate find draft create 解 释 说 明 介 绍 写 翻 译 总 结 列 出 比 较 计 算 求 描 述 告 诉 谁 办 做'.split(
    ' ',
  ),
)

/** Content words without the verbs of asking; Chinese in pairs, since single characters recur everywhere. */
function topicUnits(text: string): string[] {
  const words = contentWords(text).filter((word) => !requestWords.has(word))
  return words.flatMap((word, index) => {
    if (!hasCjk(word)) return [word]
    const next = words[index + 1]
    return next !== undefined && hasCjk(next) ? [word + next] : []
  })
}

function toolFails(state: NextState): RuleVerdict | null {
  const failed = state.messages.find(
    ({ role, text }) => role === 'tool' && text.slice(0, 100_000).includes('[TOOL_ERROR]'),
  )
  return failed === undefined ? null : { value: -1, cue: '[TOOL_ERROR]' }
}

/** Exit 0 says nothing: whether it helped is the judge's question. */
function exitsWithError(state: NextState): RuleVerdict | null {
  for (const signal of state.signals) {
    if (signal.kind === 'exit-code' && signal.code !== 0) {
      return { value: -1, cue: `exit code ${signal.code}` }
    }
  }
  return null
}

function regenerates(state: NextState): RuleVerdict | null {
  const asked = state.signals.some(({ kind }) => kind === 'regenerate')
  return asked ? { value: -1, cue: 'regenerate' } : null
}

const rules: readonly Rule[] = [
  { name: 'repeats-request', weight: 1, apply: repeatsRequest },
  { name: 'corrects-reply', weight: 1, apply: correctsReply },
  { name: 'asks-for-change', weight: 1, apply: asksForChange },
  { name: 'approves-reply', weight: 1, apply: approvesReply },
  { name: 'thanks-but', weight: 1, apply: thanksBut },
  { name: 'changes-topic', weight: 1, apply: changesTopic },
  { name: 'tool-fails', weight: 1, apply: toolFails },
  { name: 'exits-with-error', weight: 1, apply: exitsWithError },
  { name: 'regenerates', weight: 0.5, apply: regenerates },
]

/** One vote per rule that spoke; `weights` are the learned ones by name, 1 where absent. */
export function ruleVotes(
  state: NextState,
  weights: Readonly<Record<string, number>> = {},
): NewVote[] {
  const spoken = votesOf(rules, state, weights)
  // How it goes on is weaker evidence: it counts only where no rule above knew the words.
  return spoken.length > 0 ? spoken : votesOf(followRules, state, weights).slice(0, 1)
}

function votesOf(
  among: readonly Rule[],
  state: NextState,
  weights: Readonly<Record<string, number>>,
): NewVote[] {
  const votes: NewVote[] = []
  for (const rule of among) {
    const started = performance.now()
    const verdict = rule.apply(state)
    if (verdict === null) continue
    votes.push({
      source: 'rule',
      name: rule.name,
      value: verdict.value,
      weight: rule.weight * (weights[rule.name] ?? 1),
      raw: verdict.cue,
      durationMs: performance.now() - started,
    })
  }
  return votes
}
