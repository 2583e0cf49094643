// Puts a turn into a judge's prompt. What users, tools and the model wrote is quoted as data: every line is marked,
// and the marks that count in a judge's own answer are broken inside it.
import type { NextState } from '../../shared/contract/prm.ts'
import generatePrompts from '../../../resources/prompts/generate.json' with { type: 'json' }
import scorePrompts from '../../../resources/prompts/score.json' with { type: 'json' }

export interface ScorePrompt {
  readonly id: string
  readonly system: string
  readonly user: string
  readonly prefix: string
  /** Texts of the labels 1, −1, 0. */
  readonly labels: readonly [string, string, string]
}

export interface PromptView {
  /** The judge sees the reply and what came next alone. */
  readonly hidesRequest?: boolean
}

/** Beginning and end tell how a reply was taken; the middle only costs tokens. */
const maxFieldCharacters = 1_500

const scorePromptCount = scorePrompts.prompts.length

export function scorePrompt(index: number, state: NextState, view: PromptView = {}): ScorePrompt {
  return scorePromptOf(index, record(state, view), view)
}

/** The same prompt about nothing: what the labels get without any evidence. */
export function contentFreePrompt(index: number, view: PromptView = {}): ScorePrompt {
  const nothing = scorePrompts.contentFree
  const fields = [
    ...requestField(nothing, view),
    ['The reply', nothing],
    ['What came next', nothing],
  ] as const
  return scorePromptOf(index, recordOf(fields), view)
}

/** A prompt without the request is another one, with a calibration of its own. */
function idIn(view: PromptView, id: string): string {
  return view.hidesRequest === true ? `${id}-without-request` : id
}

function requestField(text: string, view: PromptView): (readonly [string, string])[] {
  return view.hidesRequest === true ? [] : [['The request', text]]
}

function scorePromptOf(index: number, body: string, view: PromptView): ScorePrompt {
  const prompt = scorePrompts.prompts[index % scorePromptCount]
  if (prompt === undefined) throw new RangeError(`no score prompt ${index}`)
  const { labels } = prompt
  return {
    id: idIn(view, prompt.id),
    system: scorePrompts.system,
    user: `${body}\n\n${prompt.question}`,
    prefix: prompt.prefix,
    labels: [labels['1'], labels['-1'], labels['0']],
  }
}

export interface TextPrompt {
  readonly id: string
  readonly system: string
  readonly user: string
}

export function generatePrompt(
  kind: 'judge' | 'hint',
  state: NextState,
  view: PromptView = {},
): TextPrompt {
  const { id, system, question } = generatePrompts[kind]
  return { id: idIn(view, id), system, user: `${record(state, view)}\n\n${question}` }
}

function record(state: NextState, view: PromptView): string {
  const next = state.messages.map(({ role, text }): readonly [string, string] => [
    nextTitles[role],
    text,
  ])
  const exits = state.signals.flatMap((signal): (readonly [string, string])[] =>
    signal.kind === 'exit-code' ? [['The command ended with exit code', String(signal.code)]] : [],
  )
  return recordOf([
    ...requestField(state.request, view),
    ['The reply', state.reply],
    ...next,
    ...exits,
    ...(next.length + exits.length === 0 ? [['What came next', '(nothing)'] as const] : []),
  ])
}

const nextTitles = {
  user: "What came next: the user's message",
  tool: 'What came next: output of a tool',
  system: 'What came next: a notice of the system',
} as const

function recordOf(fields: readonly (readonly [string, string])[]): string {
  return fields.map(([title, text]) => `${title}:\n<<<\n${quoteData(text)}\n>>>`).join('\n\n')
}

/** Data for a prompt: shortened, each line marked, and no mark in it can close the quotation or be an answer. */
function quoteData(text: string): string {
  return shortened(text)
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu,
      '',
    )
    .replace(/<<<|>>>/gu, (marks) => [...marks].join(' '))
    .replace(/\\+\s*boxed/giu, 'boxed')
    .replace(/\[\s*(HINT_(?:START|END))\s*\]/giu, '($1)')
    .replace(/<\|/gu, '< |')
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')
}

function shortened(text: string): string {
  if (text.length <= maxFieldCharacters) return text
  const half = maxFieldCharacters / 2
  const left = text.length - maxFieldCharacters
  return `${text.slice(0, half)}\n(${left} characters left out)\n${text.slice(-half)}`
}
