import type { Message } from '../../shared/domain/chat.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type { PromptMessage } from '../policy/types.ts'

/** The line that announces hints inside the last user message (arXiv 2603.10165). */
export const hintMarker = "[user's hint / instruction]"

/**
 * Appends hints to the last user message, or to the last message where no user spoke, or as a new user
 * message where there is none: old text, blank line, marker line, one hint a line.
 */
export function withHints(
  messages: readonly PromptMessage[],
  hints: readonly string[],
): PromptMessage[] {
  if (hints.length === 0) return [...messages]
  const block = [hintMarker, ...hints].join('\n')
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const index = lastUser >= 0 ? lastUser : messages.length - 1
  if (index < 0) return [{ role: 'user', text: block }]
  return messages.map((message, at) =>
    at === index ? { role: message.role, text: `${message.text}\n\n${block}` } : message,
  )
}

/** Puts hints into the system prompt instead (setting `scaffoldPlace`). */
export function withSystemHints(
  messages: readonly PromptMessage[],
  hints: readonly string[],
): PromptMessage[] {
  if (hints.length === 0) return [...messages]
  const first = messages[0]
  const text = hints.join('\n')
  if (first?.role !== 'system') return [{ role: 'system', text }, ...messages]
  return [{ role: 'system', text: `${first.text}\n\n${text}` }, ...messages.slice(1)]
}

/** The conversation up to `path`'s end as the model is shown it: what failed or stayed empty is left out. */
export function promptMessages(
  path: readonly Pick<Message, 'role' | 'text' | 'status'>[],
  settings: Settings,
): PromptMessage[] {
  const system = settings.systemPrompt.trim()
  const spoken = path
    .filter((message) => message.text !== '' && message.status !== 'failed')
    .map((message) => ({ role: message.role, text: message.text }))
  return system === '' ? spoken : [{ role: 'system' as const, text: system }, ...spoken]
}

/** Adds notes where the settings want them. */
export function scaffolded(
  messages: readonly PromptMessage[],
  hints: readonly string[],
  place: Settings['scaffoldPlace'],
): PromptMessage[] {
  return place === 'system' ? withSystemHints(messages, hints) : withHints(messages, hints)
}
