// A learning loop's neighbours for tests: a real store in a temporary folder, the real rules, and a policy, a trainer
// and a judge that are functions. Nothing is trained; what is tested is who does what, when, and what is stored.
import { writeFile } from 'node:fs/promises'
import { AsyncIteratorClass } from '@orpc/client'
import type { AppEvent } from '../../app/shared/contract/app.ts'
import type { JudgeOptions, NextState, Verdict } from '../../app/shared/contract/prm.ts'
import type { ProbePosition, TrainEvent, TrainRequest } from '../../app/shared/contract/trainer.ts'
import type { Hint, HintProposal, HintState, Note } from '../../app/shared/domain/hint.ts'
import {
  defaultTrainingConfig,
  type RunReport,
  type StepReport,
} from '../../app/shared/domain/training.ts'
import type { Reward, Turn } from '../../app/shared/domain/turn.ts'
import { learningRules } from '../../app/main/learning-rules.ts'
import type { LearningDeps, PrmClient, TrainerClient } from '../../app/main/learning/index.ts'
import { openStore, type Store } from '../../app/main/store/index.ts'
import {
  scriptedEndId,
  scriptedIds,
  scriptedPolicy,
  type PolicyScript,
  type ScriptedPolicy,
} from './scripted-policy.ts'
import { temporaryFolder } from './temporary-folder.ts'

export type Train = (
  request: TrainRequest,
  signal: AbortSignal | undefined,
) => AsyncGenerator<TrainEvent>

export interface BenchOptions extends Partial<PolicyScript> {
  readonly train?: Train
  readonly drift?: () => number[]
  readonly probe?: () => ProbePosition
  readonly judge?: (state: NextState, options: JudgeOptions) => Verdict | Promise<Verdict>
  readonly resources?: Partial<LearningDeps['resources']>
  /** Called when the trainer is asked for; throws to say that training is impossible. */
  readonly trainerAccess?: () => void
}

/** One request with its reply, as a test writes it. */
export interface ExchangeInput {
  readonly request: string
  readonly reply: string
  /** The reply that this request follows; default: a first request in a new chat. */
  readonly after?: Turn
  /** Under this user message instead of a new one: a regenerated reply. */
  readonly requestId?: string
  readonly chatId?: string
  readonly reward?: Reward | -1 | 0 | 1
  readonly scaffoldNoteIds?: readonly string[]
  readonly finish?: Turn['finish']
  readonly heldOut?: boolean
  readonly version?: number
}

export interface LearningBench extends AsyncDisposable {
  readonly store: Store
  readonly deps: LearningDeps
  readonly events: AppEvent[]
  readonly policy: ScriptedPolicy
  readonly requests: TrainRequest[]
  readonly states: NextState[]
  /** Words of the lease: `cancel`, `clear`. */
  readonly lease: string[]
  /** Milliseconds of quiet that the loop sees. */
  quietMs: number
  exchange(input: ExchangeInput): Turn
  hint(turn: Turn, text: string, state?: HintState): Hint
}

export const fourWords = 'Use at most 4 words.'

export function proposal(text: string, change: Partial<HintProposal> = {}): HintProposal {
  return { text, source: 'extracted', quote: text, quality: 0.9, qualityReasons: [], ...change }
}

export function step(change: Partial<StepReport> = {}): StepReport {
  return {
    step: 1,
    steps: 1,
    loss: 0.5,
    lossRl: null,
    lossOpd: null,
    lossDemo: 0.5,
    lossAnchor: null,
    lossEnding: null,
    lossKl: null,
    lossValue: null,
    gradientNorm: 1,
    learningRate: 5e-4,
    logProbGap: 0,
    outsideMass: null,
    differences: null,
    tokens: 10,
    seconds: 0.1,
    ...change,
  }
}

export function runReport(change: Partial<RunReport> = {}): RunReport {
  return {
    kind: 'trained',
    reason: null,
    steps: [step()],
    usedSampleIds: [],
    excluded: [],
    seconds: 1,
    tokens: 10,
    seed: 1,
    config: defaultTrainingConfig,
    ...change,
  }
}

/** Trains on everything it is given, in one step, and writes a file. */
export async function* trainedOnAll(request: TrainRequest): AsyncGenerator<TrainEvent> {
  yield { kind: 'phase', phase: 'updating' }
  yield { kind: 'step', step: step() }
  await writeFile(request.adapterPath, `adapter ${request.adapterPath}`)
  const usedSampleIds = request.samples.map((sample) => sample.id)
  yield { kind: 'done', report: runReport({ usedSampleIds }) }
}

/** A probed position at which served and trained agree when the policy gives `agreeing` scores. */
export const farApart: ProbePosition = {
  prefixIds: [1, 2],
  kl: 2,
  tokenIds: [5, 6],
  oldLogProbs: [Math.log(0.9), Math.log(0.1)],
  newLogProbs: [Math.log(0.1), Math.log(0.9)],
}

/** Scores of `farApart`: the old ones for the base, the new ones for every version. */
export function agreeing(adapter: { readonly version: number }): Float32Array {
  const logProbs = new Float32Array(300).fill(-20)
  const { oldLogProbs, newLogProbs, tokenIds } = farApart
  const source = adapter.version === 0 ? oldLogProbs : newLogProbs
  tokenIds.forEach((id, index) => (logProbs[id] = source[index] ?? -20))
  return logProbs
}

const undecided: Verdict = { reward: { kind: 'undecided' }, votes: [], hints: [] }

const backend = {
  ...{ device: 'functions', kind: 'cpu' as const, gpuReason: null },
  ...{ kernels: null, reason: null, slowdown: null },
} as const

function trainerOf(options: BenchOptions, requests: TrainRequest[]): TrainerClient {
  const train = options.train ?? trainedOnAll
  return {
    load: () => Promise.resolve({ architecture: 'llama', layers: 1, width: 8, backend }),
    backend: () => Promise.resolve(backend),
    train: (request: TrainRequest, call?: { readonly signal?: AbortSignal | undefined }) => {
      requests.push(request)
      const events = train(request, call?.signal)
      const end = async (): Promise<void> => void (await events.return(undefined))
      return Promise.resolve(new AsyncIteratorClass(() => events.next(), end))
    },
    drift: () => Promise.resolve({ kl: options.drift?.() ?? [0.01, 0.02] }),
    probe: () => Promise.resolve(options.probe?.() ?? farApart),
    unload: () => Promise.resolve({ unloaded: true }),
  }
}

function prmOf(options: BenchOptions, states: NextState[]): PrmClient {
  return {
    judge: async (asked: { readonly state: NextState; readonly options: JudgeOptions }) => {
      states.push(asked.state)
      return (await options.judge?.(asked.state, asked.options)) ?? undecided
    },
    selfTest: ({ mode }: { readonly mode: 'score' | 'generate' }) =>
      Promise.resolve({ mode, macroF1: 0.3, cases: 10, passed: false }),
  }
}

function rewardOf(value: ExchangeInput['reward']): Reward {
  if (value === undefined) return { kind: 'waiting' }
  return typeof value === 'number' ? { kind: 'decided', value, by: 'votes' } : value
}

function addExchange(store: Store, input: ExchangeInput): Turn {
  const chatId = input.after?.chatId ?? input.chatId ?? store.createChat().id
  const message = { chatId, status: 'complete', error: null, turnId: null, editOf: null } as const
  const parentId = input.after?.messageId ?? null
  const requestId =
    input.requestId ??
    store.addMessage({ ...message, role: 'user', text: input.request, parentId }).id
  const reply = store.addMessage({
    ...message,
    role: 'assistant',
    text: input.reply,
    parentId: requestId,
  })
  const bareIds = scriptedIds(
    store
      .path(requestId)
      .map((each) => each.text)
      .join('\u0001'),
  )
  const scaffoldNoteIds = [...(input.scaffoldNoteIds ?? [])]
  const notes = scaffoldNoteIds.map((id) => store.note(id)?.text ?? '').join('\n')
  const finish = input.finish ?? 'stop'
  const responseIds = [...scriptedIds(input.reply), ...(finish === 'stop' ? [scriptedEndId] : [])]
  const turn = store.addTurn({
    chatId,
    messageId: reply.id,
    kind: 'main',
    promptIds: scaffoldNoteIds.length === 0 ? bareIds : [...bareIds, ...scriptedIds(notes)],
    bareIds,
    responseIds,
    logProbs: responseIds.map(() => -0.5),
    temperature: 0.6,
    topP: 1,
    topK: 0,
    minP: 0,
    seed: 1,
    version: input.version ?? 0,
    modelId: 'test',
    scaffoldNoteIds,
    droppedMessages: 0,
    finish,
    timeToFirstTokenMs: 1,
    tokensPerSecond: 1,
    heldOut: input.heldOut ?? false,
    reward: rewardOf(input.reward),
  })
  store.updateMessage(reply.id, { turnId: turn.id })
  return turn
}

function hintAdder(store: Store): LearningBench['hint'] {
  return (turn, text, state = 'proposed') => {
    const [hint] = store.addHints(turn, [proposal(text)])
    if (hint === undefined) throw new Error('the store gave no hint')
    return state === 'proposed' ? hint : store.updateHint(hint.id, { state, decidedBy: 'user' })
  }
}

export async function learningBench(options: BenchOptions = {}): Promise<LearningBench> {
  const folder = await temporaryFolder()
  let clock = 1_000
  const now = (): number => (clock += 1)
  const store = openStore({ dataDir: folder.path, now })
  const events: AppEvent[] = []
  const requests: TrainRequest[] = []
  const states: NextState[] = []
  const lease: string[] = []
  const policy = scriptedPolicy({
    answer: () => ({ pieces: ['Plain ', 'neutral ', 'words.'] }),
    scores: agreeing,
    ...options,
  })
  const trainer = trainerOf(options, requests)
  const prm = prmOf(options, states)
  const deps: LearningDeps = {
    store,
    policy: () => policy.policy,
    trainer: async () => {
      options.trainerAccess?.()
      return Promise.resolve(trainer)
    },
    prm: () => Promise.resolve(prm),
    rules: learningRules,
    resources: {
      anchor: [{ prompt: 'Anchor?', reply: 'Yes.', ended: true }],
      gate: [{ prompt: 'Neutral?', reply: 'Plain neutral words.', ended: true }],
      kinds: [],
      ...options.resources,
    },
    lease: { cancel: () => lease.push('cancel'), clearCancel: () => lease.push('clear') },
    publish: (event) => events.push(event),
    quietMs: () => bench.quietMs,
    now,
    adapterDir: folder.path,
  }
  const bench: LearningBench = {
    store,
    deps,
    events,
    policy,
    requests,
    states,
    lease,
    quietMs: 0,
    exchange: (input) => addExchange(store, input),
    hint: hintAdder(store),
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
  return bench
}

/** A note for everything that asks for at most four words, in the prompt. */
export function addNote(bench: LearningBench, change: Partial<Note> = {}): Note {
  return bench.store.addNote({
    text: fourWords,
    scope: { kind: 'everywhere' },
    count: 1,
    check: { kind: 'max-words', words: 4 },
    state: 'prompt',
    learnedIn: null,
    ...change,
  })
}
