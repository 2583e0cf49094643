// What the contract's handlers need; compose.ts provides it.
import type { EventPublisher } from '@orpc/server'
import type {
  AppEvent,
  Curves,
  HeatMap,
  LearningStatus,
  RunSummary,
  SystemInfo,
  ChatView,
} from '../../shared/contract/app.ts'
import type { TrainerBackend } from '../../shared/contract/trainer.ts'
import type { Hint, Note } from '../../shared/domain/hint.ts'
import type { ChatService } from '../chat/index.ts'
import type { Store } from '../store/types.ts'

export interface LearningServices {
  status(): LearningStatus
  trainNow(): void
  practiceNow(): void
  activate(version: number): Promise<void>
  announce(): void
  tick(): void
  readonly hints: {
    approve(hintId: string, by: 'user'): Hint
    veto(hintId: string): Hint
    edit(hintId: string, text: string): Hint
    undo(hintId: string): Hint
    shown(hintIds: readonly string[], milliseconds: number): void
  }
  updateNote(noteId: string, change: Partial<Pick<Note, 'text' | 'scope' | 'state'>>): Note
  removeNote(noteId: string): void
  thumb(input: { readonly turnId: string; readonly value: -1 | 0 | 1; readonly text: string }): void
  curves(): Curves
  runs(): RunSummary[]
  heatMaps(): {
    readonly runId: string
    readonly sampleId: string
    readonly turnId: string | null
    readonly at: number
    readonly hints: number
    readonly positions: number
    readonly label: string
  }[]
  heatMap(runId: string, sampleId: string): HeatMap
}

export interface Services {
  readonly log: { failure(where: string, thrown: unknown): void }
  readonly store: Store
  readonly chat: ChatService
  readonly learning: LearningServices
  readonly events: EventPublisher<{ app: AppEvent }>
  readonly publish: (event: AppEvent) => void
  chatView(chatId: string): ChatView
  systemInfo(): SystemInfo
  trainerBackend(): Promise<TrainerBackend>
  exportVersion(version: number): Promise<{ readonly path: string; readonly command: string }>
  /** A request came: quiet time starts anew. */
  touch(): void
}
