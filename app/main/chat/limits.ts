import { AppError } from '../../shared/errors.ts'

/** Longest message that is accepted; far over what any small model's context holds. */
export const messageLimitCharacters = 200_000

/** The text as typed, or `invalid-input` / `too-large` with the numbers. */
export function checkMessageText(text: string): string {
  if (text.trim() === '') throw new AppError('invalid-input', 'The message is empty.')
  if (text.length > messageLimitCharacters) {
    throw new AppError(
      'too-large',
      `The message has ${text.length} characters; at most ${messageLimitCharacters} can be sent.`,
    )
  }
  return text
}

/** A chat's title from its first message, one line, at most 48 characters. */
export function titleOf(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return line.length <= 48 ? line : `${line.slice(0, 47).trimEnd()}…`
}

/** FNV-1a, 32 bits: decides by hash, when a prompt arrives, whether it is held out for the gate. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** From the ninth first prompt on, one in five never trains (DESIGN 10). */
export function isHeldOut(messageId: string, earlierFirstPrompts: number): boolean {
  return earlierFirstPrompts >= 8 && hash32(messageId) % 5 === 0
}
