import type { Sample, TrainingConfig } from '../../app/shared/domain/training.ts'
import { defaultTrainingConfig } from '../../app/shared/domain/training.ts'

/** A rejected turn without a hint unless `change` says otherwise. */
export function turnSample(change: Partial<Sample> = {}): Sample {
  return {
    id: 'turn',
    kind: 'turn',
    turnId: 'turn-1',
    chatId: 'chat-1',
    promptIds: [1, 2, 3],
    responseIds: [4, 5, 6],
    temperature: 0.6,
    rewardMask: null,
    samplerLogProbs: null,
    sampledPromptIds: null,
    version: 0,
    reward: -1,
    hints: [],
    noteIds: [],
    origin: 'reply',
    createdAt: 1,
    ...change,
  }
}

export function demonstrationSample(change: Partial<Sample> = {}): Sample {
  return turnSample({
    id: 'demonstration',
    kind: 'demonstration',
    reward: null,
    origin: 'accepted-revision',
    ...change,
  })
}

export function trainingConfig(change: Partial<TrainingConfig> = {}): TrainingConfig {
  // One test at a time says how many further passes it wants.
  return { ...defaultTrainingConfig, demonstrationPasses: 0, ...change }
}
