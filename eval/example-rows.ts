// For tests: a finished row, and results that hold it.
import type { ModelRow } from './aggregate.ts'
import type { BaseRate, NeutralBase } from './results.ts'
import type { TrialConfig } from './trial.ts'

const example: ModelRow = {
  model: 'small.gguf',
  setting: 'separate',
  persona: 'brief',
  method: 'hybrid',
  seed: 1,
  sessionsToTarget: 7,
  cap: 24,
  firstReply: { before: [0, 50], after: [45, 50] },
  control: {
    kl: 0.0712,
    lengthRatio: 0.951,
    repetition: 0.034,
    arithmetic: { before: [15, 20], after: [14, 20] },
  },
  seconds: 612,
  sessions: '00 00 11 1',
  reached: true,
  wrongSignals: 0,
  variant: '',
  preference: [
    { interactions: 0, score: 0.2 },
    { interactions: 12, score: 0.6 },
    { interactions: 18, score: 0.9 },
  ],
  judge: { agreed: [18, 20], asked: 0, tokens: 0, seconds: 0.5, turns: 20 },
  hints: [9, 10],
  training: { runs: 3, live: 2, seconds: 60, practiceSeconds: 0, outsideMass: 0.12 },
  userModel: null,
}

export function modelRow(change: Partial<ModelRow>): ModelRow {
  return { ...example, ...change }
}

export const exampleBase: BaseRate = {
  kind: 'base',
  model: 'small.gguf',
  persona: 'brief',
  wish: 'explain a term in at most 40 words',
  bare: Array.from({ length: 50 }, (_, index) => index < 3),
  scores: Array.from({ length: 50 }, (_, index) => (index < 3 ? 1 : 0.3)),
  told: Array.from({ length: 24 }, (_, index) => index < 20),
  seconds: 120,
}

export const exampleNeutral: NeutralBase = {
  kind: 'neutral',
  model: 'small.gguf',
  words: Array.from({ length: 20 }, () => 60),
  repetition: 0.02,
  arithmetic: [15, 20],
  seconds: 60,
}

export function exampleConfig(change: Partial<TrialConfig> = {}): TrialConfig {
  return {
    model: 'small.gguf',
    setting: 'separate',
    personas: ['brief'],
    method: 'hybrid',
    seed: 1,
    sessionsCap: 24,
    trainEvery: 1,
    firstReplies: 24,
    controlReplies: 20,
    wording: 'all',
    wrongSignals: 0,
    overrides: {},
    user: 'templates',
    ...change,
  }
}
