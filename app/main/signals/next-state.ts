// Builds the next state of a reply: all messages up to the next main reply, and the explicit signals on the turn.
import type { NextState } from '../../shared/contract/prm.ts'

export type ExplicitSignal = NextState['signals'][number]

export interface FollowingMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
}

export interface NextStateInput {
  readonly request: string
  readonly reply: string
  /** Messages after the reply, oldest first. */
  readonly messages: readonly FollowingMessage[]
  readonly signals: readonly ExplicitSignal[]
}

/** What comes after another assistant reply answers that one; repeated regenerates count once. */
export function buildNextState({ request, reply, messages, signals }: NextStateInput): NextState {
  const end = messages.findIndex(({ role }) => role === 'assistant')
  const following = end === -1 ? messages : messages.slice(0, end)
  const taken: NextState['messages'] = []
  for (const { role, text } of following) {
    if (role !== 'assistant' && text.trim() !== '') taken.push({ role, text })
  }
  return { request, reply, messages: taken, signals: withoutRepeats(signals) }
}

function withoutRepeats(signals: readonly ExplicitSignal[]): ExplicitSignal[] {
  const first = signals.findIndex(({ kind }) => kind === 'regenerate')
  return signals.filter(({ kind }, index) => kind !== 'regenerate' || index === first)
}
