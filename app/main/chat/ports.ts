// What the conversation service needs from its neighbours; compose.ts hands the real ones in.
import type { AppEvent } from '../../shared/contract/app.ts'
import type { Note } from '../../shared/domain/hint.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import type { Policy } from '../policy/types.ts'
import type { ChatStore, HintStore, TurnStore } from '../store/types.ts'

export type ChatPolicy = Pick<
  Policy,
  'info' | 'render' | 'textOf' | 'idsOf' | 'generate' | 'active'
>

export type ChatStorePort = ChatStore &
  Pick<
    TurnStore,
    'addTurn' | 'turn' | 'turns' | 'addSignal' | 'signals' | 'setJudgeTask' | 'recentTurns'
  > &
  Pick<HintStore, 'notes' | 'hintsOf'> & {
    settings(): Settings
    transaction<Result>(work: () => Result): Result
  }

export interface ChatDeps {
  readonly store: ChatStorePort
  /** Throws `unavailable` with the reason while no model is loaded. */
  readonly policy: () => ChatPolicy
  readonly publish: (event: AppEvent) => void
  /** Notes whose text helps with this request at once, most wanted first. */
  readonly scaffold: (request: string, chatId: string) => readonly Note[]
  /** A turn's next state has changed: judging is owed. */
  readonly onNextState: (turnId: string) => void
  /** A reply ended; its turn is stored. */
  readonly onTurn: (turn: Turn) => void
  readonly seed: () => number
}
