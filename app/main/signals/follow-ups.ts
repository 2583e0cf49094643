// Weaker evidence than praise and blame: how a conversation goes on. In order; the first that speaks is the only one.
// They see only what the user typed. Source: DESIGN 5.3, +1 "the task moves on", −1 "redo, repeat".
import type { NextState } from '../../shared/contract/prm.ts'
import { contentWords } from './content-words.ts'
import { firstCue } from './cues.ts'
import type { Rule, RuleVerdict } from './rule.ts'
import { hasCjk, typedSentences } from './text.ts'

const judgedSentences = 4
/** So much of the request said once more is the same request in other words. */
const askedAgainShare = 0.6
const maxReadCharacters = 20_000

function typedBy(state: NextState): string[] {
  return state.messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ text }) => typedSentences(text).slice(0, judgedSentences))
    .map(({ plain }) => plain)
}

function cueIn(kind: 'success' | 'doubt' | 'continues', sentences: readonly string[]) {
  for (const sentence of sentences) {
    const cue = firstCue(kind, sentence)
    if (cue !== null) return cue
  }
  return null
}

function doubtsReply(state: NextState): RuleVerdict | null {
  const cue = cueIn('doubt', typedBy(state))
  return cue === null ? null : { value: -1, cue }
}

const outputOfFailure =
  /(?:^|\n)\s*(?:\w+Error\b|Traceback |FAILED\b|fatal:|npm error|error(?:\[\w+\])?:)|\berror TS\d|: (?:command )?not found\b|"error"\s*:\s*[{"]|\b[1-9]\d* (?:failed|failing|failures?)\b/u

function outputs(state: NextState): string {
  return state.messages
    .filter(({ role }) => role === 'tool')
    .map(({ text }) => text.slice(0, maxReadCharacters))
    .join('\n')
}

function outputFails(state: NextState): RuleVerdict | null {
  const match = outputOfFailure.exec(outputs(state))
  return match === null ? null : { value: -1, cue: match[0].trim() }
}

/** Success alone is no praise (DESIGN 5.1); but a command ran, and the user goes on with the next step without a word about it. */
function goesOnAfterOutput(state: NextState): RuleVerdict | null {
  const last = state.messages.at(-1)
  const worked = state.signals.some((signal) => signal.kind === 'exit-code' && signal.code === 0)
  return worked && last?.role === 'user' && state.messages.some(({ role }) => role === 'tool')
    ? { value: 1, cue: 'goes on after the output' }
    : null
}

function reportsSuccess(state: NextState): RuleVerdict | null {
  const cue = cueIn('success', typedBy(state))
  return cue === null ? null : { value: 1, cue }
}

/** Words, and pairs of Chinese characters. */
function units(text: string): Set<string> {
  const words = contentWords(text.slice(0, maxReadCharacters))
  const found = words.flatMap((word, index) => {
    if (!hasCjk(word)) return [stem(word)]
    const next = words[index + 1]
    return next !== undefined && hasCjk(next) ? [word + next] : []
  })
  return new Set(found)
}

function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/u, '') : word
}

function share(of: ReadonlySet<string>, among: ReadonlySet<string>): number {
  return of.size === 0 ? 0 : [...of].filter((unit) => among.has(unit)).length / of.size
}

/** Most words of the request once more, or a fragment that is a part of the request: it was not answered. */
function asksAgain(state: NextState): RuleVerdict | null {
  const request = units(state.request)
  const [text, more] = typedBy(state)
  if (text === undefined || request.size < 2) return null
  const said = units([text, more ?? ''].join(' '))
  const numbers = (words: ReadonlySet<string>) => [...words].filter((word) => /\d/u.test(word))
  if (numbers(said).some((word) => !request.has(word))) return null
  const isFragment = /^\S{1,4}呢[？?]?$/u.test(text) && state.request.includes(text.slice(0, 2))
  return isFragment || share(request, said) >= askedAgainShare
    ? { value: -1, cue: 'asks for the same in other words' }
    : null
}

/** Opens with "and", "so", "那", or asks about a word that only the reply brought up. */
function buildsOnReply(state: NextState): RuleVerdict | null {
  const sentences = typedBy(state)
  const [first] = sentences
  if (first === undefined) return null
  const cue = firstCue('continues', first) ?? cueIn('continues', sentences)
  if (cue !== null) return { value: 1, cue }
  const asks = sentences.some((sentence) => /[?？吗呢]$|\b(?:can|should|do) i\b/u.test(sentence))
  const request = units(state.request)
  const reply = units(state.reply)
  const taken = [...units(sentences.join(' '))].find(
    (unit) => reply.has(unit) && !request.has(unit),
  )
  return asks && taken !== undefined ? { value: 1, cue: `asks on about “${taken}”` } : null
}

/** Going on is half a sign of content: it must not outweigh a wish. */
export const followRules: readonly Rule[] = [
  { name: 'output-fails', weight: 1, apply: outputFails },
  { name: 'doubts-reply', weight: 1, apply: doubtsReply },
  { name: 'reports-success', weight: 1, apply: reportsSuccess },
  { name: 'asks-again', weight: 1, apply: asksAgain },
  { name: 'goes-on-after-output', weight: 1, apply: goesOnAfterOutput },
  { name: 'builds-on-reply', weight: 0.5, apply: buildsOnReply },
]
