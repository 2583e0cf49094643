// The store's door as types. Every method is synchronous (node:sqlite) and durable when it returns:
// user messages, signals, hints' decisions and versions with synchronous=FULL.
import type { Chat, Message } from '../../shared/domain/chat.ts'
import type { Hint, HintProposal, HintState, Note } from '../../shared/domain/hint.ts'
import type { Settings } from '../../shared/domain/settings.ts'
import type {
  Exchange,
  Overlap,
  RunReport,
  Sample,
  StepReport,
} from '../../shared/domain/training.ts'
import type { NewVote, Reward, Turn, Vote } from '../../shared/domain/turn.ts'
import type { GateReport, Version } from '../../shared/domain/version.ts'

/** An explicit or derived signal about a turn, appended, never changed. */
export interface Signal {
  readonly id: string
  readonly turnId: string
  readonly kind: 'thumb' | 'edit' | 'regenerate' | 'next-message' | 'exit-code'
  /** Thumb −1, 0 (taken back), 1; exit code; null otherwise. */
  readonly value: number | null
  readonly text: string
  /** The message that carries it (the user's next message, the edited reply). */
  readonly messageId: string | null
  readonly createdAt: number
}

/** Judging that is owed: survives a restart. */
export interface JudgeTask {
  readonly turnId: string
  readonly state: 'owed' | 'done' | 'failed'
  readonly error: string | null
  readonly updatedAt: number
}

/** A sample as stored, with its life. */
export interface StoredSample {
  readonly sample: Sample
  /** `ready` may train; `used` was trained (may be replayed); `retired` never again; `vetoed` by the user. */
  readonly state: 'ready' | 'used' | 'returned' | 'retired' | 'vetoed'
  /** Plain reason for retired and vetoed. */
  readonly reason: string | null
  /** How often it was trained on. */
  readonly uses: number
}

/** One training occasion. */
export interface StoredRun {
  readonly id: string
  readonly startedAt: number
  readonly endedAt: number | null
  readonly outcome:
    'running' | 'live' | 'rejected' | 'refused' | 'no-signal' | 'failed' | 'interrupted'
  readonly version: number | null
  readonly sentence: string
  readonly sampleIds: readonly string[]
  readonly report: RunReport | null
}

export interface ChatStore {
  createChat(): Chat
  chat(id: string): Chat | null
  /** Newest first, without the trash. */
  chats(): Chat[]
  updateChat(
    id: string,
    change: Partial<Pick<Chat, 'title' | 'learn' | 'activeLeafId' | 'deletedAt'>>,
  ): Chat
  addMessage(message: Omit<Message, 'id' | 'createdAt'>): Message
  message(id: string): Message | null
  messages(chatId: string): Message[]
  updateMessage(
    id: string,
    change: Partial<Pick<Message, 'text' | 'status' | 'error' | 'turnId'>>,
  ): Message
  /** Root to leaf. */
  path(leafId: string): Message[]
  /** After a crash: every message left `streaming` becomes `interrupted`; returns how many. */
  closeInterrupted(): number
}

/** Turns on which the user's last thumb said the same as a rule, and something else. */
export interface RuleRecord {
  readonly rule: string
  readonly agreed: number
  readonly contradicted: number
}

export interface TurnStore {
  addTurn(turn: Omit<Turn, 'id' | 'createdAt'>): Turn
  turn(id: string): Turn | null
  turns(chatId: string): Turn[]
  /** All main turns, oldest first, newest `limit`. */
  recentTurns(limit: number): Turn[]
  setReward(turnId: string, reward: Reward): void
  addVotes(turnId: string, votes: readonly NewVote[]): Vote[]
  votes(turnId: string): Vote[]
  /** How each rule's votes stand to the thumbs on the same turns, by name. */
  ruleRecords(): RuleRecord[]
  addSignal(signal: Omit<Signal, 'id' | 'createdAt'>): Signal
  signals(turnId: string): Signal[]
  setJudgeTask(turnId: string, state: JudgeTask['state'], error?: string): void
  judgeTask(turnId: string): JudgeTask | null
  owedJudgeTasks(): JudgeTask[]
}

export interface HintStore {
  addHints(turn: Pick<Turn, 'id' | 'chatId'>, proposals: readonly HintProposal[]): Hint[]
  hint(id: string): Hint | null
  hints(): Hint[]
  hintsOf(turnId: string): Hint[]
  updateHint(
    id: string,
    change: Partial<Pick<Hint, 'text' | 'noteId' | 'decidedBy' | 'shownMs'>> & {
      readonly state?: HintState
    },
  ): Hint
  addNote(note: Omit<Note, 'id' | 'createdAt' | 'updatedAt'>): Note
  note(id: string): Note | null
  notes(): Note[]
  updateNote(id: string, change: Partial<Omit<Note, 'id' | 'createdAt' | 'updatedAt'>>): Note
  removeNote(id: string): void
}

export interface LearningStore {
  /** Fails with `conflict` when the id exists. */
  addSample(sample: Sample): StoredSample
  sample(id: string): StoredSample | null
  samples(states: readonly StoredSample['state'][]): StoredSample[]
  samplesOfTurn(turnId: string): StoredSample[]
  setSampleState(id: string, state: StoredSample['state'], reason?: string): void
  countUse(sampleIds: readonly string[]): void
  startRun(sampleIds: readonly string[]): StoredRun
  finishRun(
    id: string,
    end: Pick<StoredRun, 'outcome' | 'sentence' | 'version' | 'report'>,
  ): StoredRun
  runs(limit: number): StoredRun[]
  /** Runs left `running` by a crash become `interrupted`; returns them. */
  closeInterruptedRuns(): StoredRun[]
  addStep(runId: string, step: StepReport): void
  steps(limit: number): { readonly runId: string; readonly at: number; readonly step: StepReport }[]
  addOverlap(runId: string, overlap: Overlap): void
  overlaps(limit: number): {
    readonly runId: string
    readonly sampleId: string
    readonly at: number
    readonly hints: number
    readonly positions: number
  }[]
  overlap(
    runId: string,
    sampleId: string,
  ): { readonly at: number; readonly overlap: Overlap } | null
}

export interface VersionStore {
  /** The next free number; numbers are never given twice, rejected candidates keep theirs. */
  nextVersion(): number
  addVersion(
    version: Omit<Version, 'createdAt' | 'activatedAt' | 'state' | 'gate' | 'tainted'>,
  ): Version
  version(version: number): Version | null
  versions(): Version[]
  setGate(version: number, gate: GateReport): void
  reject(version: number): void
  /** Makes it the one active version (0 = base) in one transaction; the former becomes `retired`. */
  activate(version: number): void
  /** 0 when the base answers. */
  activeVersion(): number
  taint(version: number, reason: string): void
}

export interface Store
  extends ChatStore, TurnStore, HintStore, LearningStore, VersionStore, Disposable {
  settings(): Settings
  updateSettings(change: Partial<Settings>): Settings
  /** Small JSON values that must survive a restart (self-test results, caches), by key. */
  value(key: string): unknown
  setValue(key: string, value: unknown): void
  /** Neutral replies of a base model, by model id and set name. */
  exchanges(modelId: string, set: string): Exchange[] | null
  setExchanges(modelId: string, set: string, exchanges: readonly Exchange[]): void
  /** Runs `work` in one transaction. */
  transaction<Result>(work: () => Result): Result
  /** Why nothing can be written (disk full, read-only folder), in words; null when all is well. */
  readOnlyReason(): string | null
}
