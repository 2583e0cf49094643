// Chat prompts as ids. The model's own Jinja template is rendered with a sentinel in place of every
// message's text; only the template's own words may become control tokens. Text between two control
// tokens (template words and message text) is tokenised as one run without special tokens, which is what
// llama.cpp does with the joint string, so ordinary texts get exactly the ids the model was trained on,
// while a typed `<|im_end|>` stays text.

import { Template } from '@huggingface/jinja'
import { AppError } from '../../shared/errors.ts'
import type { PromptMessage } from './types.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Private-use characters with the message's number between them. */
const sentinelPattern = /(\u2003?)\uE0F0(\d+)\uE0F1(\u2003?)/g
/** Padding that `trim` takes away: where it is gone after rendering, the template trims that side. */
const padding = '\u2003'

type Part = { readonly kind: 'template' | 'content'; readonly text: string }

export interface ChatTemplate {
  ids(messages: readonly PromptMessage[], continueWith: string): number[]
}

export function createChatTemplate(source: string | null, vocabulary: Vocabulary): ChatTemplate {
  let template: Template | null = null
  const controls = controlPattern(vocabulary.controls)

  function parsed(): Template {
    if (source === null)
      throw new AppError('unsupported', 'the model has no chat template, so it cannot hold a chat')
    template ??= parse(source)
    return template
  }

  return {
    ids(messages, continueWith) {
      const parts = renderParts(parsed(), messages, vocabulary)
      if (continueWith !== '') parts.push({ kind: 'content', text: continueWith })
      const ids = tokenise(parts, controls, vocabulary)
      const { firstId } = vocabulary
      return firstId === null || ids[0] === firstId ? ids : [firstId, ...ids]
    },
  }
}

/**
 * The id that ends a complete reply: the first end id that the template puts behind an assistant message. A model has
 * several end ids, and only its template tells which one it was trained to write.
 */
export function findReplyEnd(template: ChatTemplate, vocabulary: Vocabulary): number | null {
  const { namedEndId, isEnd } = vocabulary
  const asked: PromptMessage = { role: 'user', text: 'a' }
  try {
    const before = template.ids([asked], '')
    const whole = template.ids([asked, { role: 'assistant', text: 'b' }, asked], '')
    return whole.slice(before.length).find(isEnd) ?? namedEndId
  } catch {
    // A template that refuses this can still hold a chat; what it refuses is told when it is used.
    return namedEndId
  }
}

function parse(source: string): Template {
  try {
    return new Template(source)
  } catch (cause) {
    throw new AppError(
      'unsupported',
      `the model's chat template cannot be read: ${String(cause)}`,
      {
        cause,
      },
    )
  }
}

/**
 * The messages as they are; failing that with the system message put before the first user message;
 * failing that also with tool results as user messages and neighbours of one role joined. Templates differ in
 * what they refuse, and only they know.
 */
function renderParts(
  template: Template,
  messages: readonly PromptMessage[],
  vocabulary: Vocabulary,
): Part[] {
  const withoutSystem = foldSystem(messages)
  const attempts = [messages, withoutSystem, joinNeighbours(withoutSystem)]
  let problem: unknown
  for (const attempt of attempts) {
    try {
      return renderOnce(template, attempt, vocabulary)
    } catch (error) {
      problem ??= error
    }
  }
  const reason = problem instanceof Error ? problem.message : String(problem)
  throw new AppError('unsupported', `the model's chat template refuses these messages: ${reason}`, {
    cause: problem,
  })
}

function renderOnce(
  template: Template,
  messages: readonly PromptMessage[],
  vocabulary: Vocabulary,
): Part[] {
  const text = template.render({
    messages: messages.map(({ role }, i) => ({
      role,
      content: `${padding}\uE0F0${i}\uE0F1${padding}`,
    })),
    add_generation_prompt: true,
    ...vocabulary.named,
  })
  const seen = new Set<number>()
  const parts: Part[] = []
  let at = 0
  for (const match of text.matchAll(sentinelPattern)) {
    const index = Number(match[2])
    const message = messages[index]
    if (message === undefined) continue
    seen.add(index)
    parts.push({ kind: 'template', text: text.slice(at, match.index) })
    parts.push({ kind: 'content', text: trimmed(message.text, match[1] === '', match[3] === '') })
    at = match.index + match[0].length
  }
  parts.push({ kind: 'template', text: text.slice(at) })
  const missing = messages.findIndex((_, i) => !seen.has(i))
  const left = messages[missing]
  if (left !== undefined) throw new Error(`it leaves out message ${missing + 1} (${left.role})`)
  return parts
}

function trimmed(text: string, start: boolean, end: boolean): string {
  const left = start ? text.trimStart() : text
  return end ? left.trimEnd() : left
}

function foldSystem(messages: readonly PromptMessage[]): PromptMessage[] {
  const system = messages.filter(({ role }) => role === 'system').map(({ text }) => text)
  const rest = messages.filter(({ role }) => role !== 'system')
  const first = rest.findIndex(({ role }) => role === 'user')
  return rest.map((message, i) =>
    i === first ? { role: 'user', text: [...system, message.text].join('\n\n') } : message,
  )
}

function joinNeighbours(messages: readonly PromptMessage[]): PromptMessage[] {
  const joined: PromptMessage[] = []
  for (const message of messages) {
    const role = message.role === 'tool' ? 'user' : message.role
    const last = joined.at(-1)
    if (last?.role === role)
      joined[joined.length - 1] = { role, text: `${last.text}\n\n${message.text}` }
    else joined.push({ role, text: message.text })
  }
  return joined
}

function controlPattern(controls: readonly string[]): RegExp | null {
  if (controls.length === 0) return null
  return new RegExp(controls.map(escaped).join('|'), 'g')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Splits only the template's parts at control strings; runs of other text are tokenised whole. */
function tokenise(
  parts: readonly Part[],
  controls: RegExp | null,
  vocabulary: Vocabulary,
): number[] {
  const ids: number[] = []
  let run = ''
  function endRun(): void {
    if (run !== '') ids.push(...vocabulary.plainIds(run))
    run = ''
  }
  for (const { kind, text } of parts) {
    let at = 0
    if (kind === 'template' && controls !== null)
      for (const match of text.matchAll(controls)) {
        run += text.slice(at, match.index)
        endRun()
        ids.push(vocabulary.controlId(match[0]))
        at = match.index + match[0].length
      }
    run += text.slice(at)
  }
  endRun()
  return ids
}
