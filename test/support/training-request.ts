import { join } from 'node:path'
import type { TrainRequest } from '../../app/shared/contract/trainer.ts'
import type { TrainingConfig } from '../../app/shared/domain/training.ts'
import { demonstrationSample, trainingConfig, turnSample } from './samples.ts'

/** A run on the tiny random model: a praised turn with two hints, a demonstration, two anchors. */
export function tinyTrainRequest(
  folder: string,
  change: Partial<Omit<TrainRequest, 'config'>> & {
    readonly name?: string
    readonly config?: Partial<TrainingConfig>
  } = {},
): TrainRequest {
  const { name = 'v1', config, ...rest } = change
  const hints = [
    { hintId: 'h1', text: 'be brief', promptIds: [10, 11, 12, 40, 41] },
    { hintId: 'h2', text: 'use plain sentences', promptIds: [10, 11, 12, 50] },
  ]
  return {
    config: trainingConfig({ rank: 4, alpha: 8, anchorsPerStep: 2, ...config }),
    samples: [
      turnSample({ reward: 1, promptIds: [10, 11, 12], responseIds: [20, 21, 22, 2], hints }),
      demonstrationSample({ promptIds: [10, 11, 12], responseIds: [30, 31, 2] }),
    ],
    anchors: [
      { promptIds: [60, 61], responseIds: [62, 63, 64, 2] },
      { promptIds: [70, 71, 72], responseIds: [73, 2] },
    ],
    endId: 2,
    parentPath: null,
    parentStatePath: null,
    versionPaths: {},
    adapterPath: join(folder, `${name}.gguf`),
    statePath: join(folder, `${name}.state`),
    medianGradientNorm: null,
    ...rest,
  }
}
