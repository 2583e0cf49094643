// What the tests of this folder share: a store in a temporary folder, and values that fit its types.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HintProposal } from '../../shared/domain/hint.ts'
import { defaultTrainingConfig } from '../../shared/domain/training.ts'
import type { RunReport, Sample, StepReport } from '../../shared/domain/training.ts'
import type { Turn } from '../../shared/domain/turn.ts'
import type { Connection } from './connection.ts'
import { storeOn } from './index.ts'
import { openDatabase } from './open.ts'
import type { Store } from './types.ts'

export interface TestFolder extends Disposable {
  readonly dir: string
  readonly file: string
}

export function testFolder(): TestFolder {
  const dir = mkdtempSync(join(tmpdir(), 'hone-store-'))
  return {
    dir,
    file: join(dir, 'hone.db'),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  }
}

export interface TestStore extends Disposable {
  readonly store: Store
  readonly connection: Connection
  readonly dir: string
}

function clock(): () => number {
  let time = 1_000_000
  return () => (time += 1)
}

/** A store whose clock goes on by one millisecond at each look. */
export function testStore(folder?: TestFolder, now = clock()): TestStore {
  const own = folder ?? testFolder()
  const opened = openDatabase({ dataDir: own.dir, now })
  return {
    store: storeOn(opened.connection, opened),
    connection: opened.connection,
    dir: own.dir,
    [Symbol.dispose]: () => {
      opened[Symbol.dispose]()
      if (folder === undefined) own[Symbol.dispose]()
    },
  }
}

export function userMessage(chatId: string, parentId: string | null, text: string) {
  return {
    chatId,
    parentId,
    role: 'user',
    text,
    status: 'complete',
    error: null,
    turnId: null,
    editOf: null,
  } as const
}

export function newTurn(
  chatId: string,
  change: Partial<Turn> = {},
): Omit<Turn, 'id' | 'createdAt'> {
  return {
    chatId,
    messageId: 'message-1',
    kind: 'main',
    promptIds: [1, 2, 3],
    bareIds: [1, 3],
    responseIds: [7, 8, 2],
    logProbs: [-0.1, -1 / 3, -Number.MIN_VALUE],
    temperature: 0.6,
    topP: 1,
    topK: 0,
    minP: 0,
    seed: 4_000_000_000,
    version: 0,
    modelId: 'model',
    scaffoldNoteIds: [],
    droppedMessages: 0,
    finish: 'stop',
    timeToFirstTokenMs: 12.5,
    tokensPerSecond: null,
    heldOut: false,
    reward: { kind: 'waiting' },
    ...change,
  }
}

export function proposal(text: string): HintProposal {
  return { text, source: 'extracted', quote: text, quality: 0.7, qualityReasons: ['imperative'] }
}

export function newSample(id: string, change: Partial<Sample> = {}): Sample {
  return {
    id,
    kind: 'turn',
    turnId: 'turn-1',
    chatId: 'chat-1',
    promptIds: [1, 2],
    responseIds: [3, 2],
    temperature: 0.6,
    rewardMask: null,
    samplerLogProbs: [-0.25, -1e-17],
    sampledPromptIds: null,
    version: 0,
    reward: -1,
    hints: [{ hintId: 'hint-1', text: 'Use at most 40 words.', promptIds: [1, 9, 2] }],
    noteIds: ['note-1'],
    origin: 'reply',
    createdAt: 5,
    ...change,
  }
}

export function stepReport(step: number): StepReport {
  return {
    step,
    steps: 2,
    loss: 0.5 / 3,
    lossRl: null,
    lossOpd: 0.1,
    lossDemo: null,
    lossAnchor: 0.01,
    lossEnding: null,
    lossKl: null,
    lossValue: null,
    gradientNorm: 1.25,
    learningRate: 5e-4,
    logProbGap: null,
    outsideMass: 0.02,
    differences: null,
    tokens: 120,
    seconds: 3.5,
  }
}

export function runReport(): RunReport {
  return {
    kind: 'trained',
    reason: null,
    steps: [stepReport(1)],
    usedSampleIds: ['sample-1'],
    excluded: [{ sampleId: 'sample-2', reason: 'held out' }],
    seconds: 9,
    tokens: 500,
    seed: 1,
    config: defaultTrainingConfig,
  }
}

export function newVersion(version: number, parent: number) {
  return {
    version,
    parent,
    modelId: 'model',
    path: `v${version}.gguf`,
    sha256: 'aa',
    sampleIds: ['sample-1'],
    report: runReport(),
  }
}
