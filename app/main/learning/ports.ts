// What the learning loop needs from its neighbours, as small interfaces; compose.ts hands the real ones in.
import type { ContractRouterClient } from '@orpc/contract'
import type { AppEvent } from '../../shared/contract/app.ts'
import type { NextState, prmContract } from '../../shared/contract/prm.ts'
import type { trainerContract } from '../../shared/contract/trainer.ts'
import type { Check } from '../../shared/domain/check.ts'
import type { Message } from '../../shared/domain/chat.ts'
import type { Note } from '../../shared/domain/hint.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type { Policy, PromptMessage } from '../policy/types.ts'
import type { NoteChange } from '../prm/index.ts'
import type { Store } from '../store/types.ts'

export type TrainerClient = ContractRouterClient<typeof trainerContract>
export type PrmClient = ContractRouterClient<typeof prmContract>
export type LearningPolicy = Policy
export type LearningStore = Store

/** The pure rules of `signals` and `prm` that the loop applies on the host. */
export interface LearningRules {
  buildNextState(input: NextState): NextState
  satisfies(check: Check, reply: string): boolean
  /** The rule in a note's words, if a rule can check them. */
  checkOf(text: string): Check | null
  inScope(note: Note, request: string, chatId: string): boolean
  /** 0–1 over character n-grams. */
  similarity(a: string, b: string): number
  mergeHint(
    notes: readonly Note[],
    hint: { readonly text: string; readonly request: string; readonly reply: string },
  ): NoteChange
  /** A conversation as the model is shown it, the system prompt first. */
  promptMessages(
    path: readonly Pick<Message, 'role' | 'text' | 'status'>[],
    settings: Settings,
  ): PromptMessage[]
  /** Adds hints under the last user message (DESIGN 6.5). */
  withHints(messages: readonly PromptMessage[], hints: readonly string[]): PromptMessage[]
}

/** A neutral exchange as bundled text. */
export interface NeutralText {
  readonly prompt: string
  readonly reply: string
  /** Whether the base model ended the reply by itself. */
  readonly ended: boolean
}

export interface LearningResources {
  readonly anchor: readonly NeutralText[]
  readonly gate: readonly NeutralText[]
  /** Bundled first prompts of many kinds, for notes without eight held-out prompts of the user's own. */
  readonly kinds: readonly string[]
}

/** Cores as a lease: see governor.ts. */
export interface TrainerLease {
  /** Asks the run in progress to stop at its next segment and give up. */
  cancel(): void
  clearCancel(): void
}

export interface LearningDeps {
  readonly store: LearningStore
  readonly policy: () => LearningPolicy
  readonly trainer: () => Promise<TrainerClient>
  readonly prm: () => Promise<PrmClient>
  readonly rules: LearningRules
  readonly resources: LearningResources
  readonly lease: TrainerLease
  readonly publish: (event: AppEvent) => void
  /** Milliseconds since the last request, message or running reply. */
  readonly quietMs: () => number
  readonly now: () => number
  readonly adapterDir: string
}
