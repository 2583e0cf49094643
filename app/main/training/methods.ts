// What each selectable method is made of: which terms of the loss a sample may have, and what they weigh (DESIGN 7.1).
import type { TrainingConfig } from '../../shared/domain/training.ts'

export interface MethodTerms {
  readonly rl: boolean
  readonly opd: boolean
  readonly demo: boolean
}

/** The pure forms leave demonstrations out, so that a benchmark compares them as they were published. */
const terms: Readonly<Record<TrainingConfig['method'], MethodTerms>> = {
  hybrid: { rl: true, opd: true, demo: true },
  grpo: { rl: true, opd: false, demo: false },
  opd: { rl: false, opd: true, demo: false },
  'opd-token': { rl: false, opd: true, demo: false },
  combined: { rl: true, opd: true, demo: true },
  'ppo-gae': { rl: true, opd: true, demo: true },
}

/** Terms that the method has and the weights do not switch off. */
export function methodTerms(config: TrainingConfig): MethodTerms {
  const { rl, opd, demo } = terms[config.method]
  return {
    rl: rl && config.weightRl > 0,
    opd: opd && config.weightOpd > 0,
    demo: demo && config.weightDemo > 0,
  }
}

/** Whether distillation looks at the sampled token alone, not at a support of several. */
export function looksAtSampledTokens({ method }: TrainingConfig): boolean {
  return method === 'opd-token' || method === 'combined'
}

export const ppo = {
  discount: 0.99,
  trace: 0.95,
  shareOfRl: 0.3,
  shareOfDistillation: 0.7,
  /** Logits of both sides are divided by this in its distillation. */
  temperature: 0.3,
  /**
   * Held as a loss on the sampled tokens, not taken off the reward: with a handful of rewards a value head cannot
   * learn such a charge per token, and off the reward it would have no gradient of its own in the second pass.
   */
  klWeight: 0.2,
} as const

/** Factors of the terms as `sampleLoss` takes them. */
export function lossWeights(config: TrainingConfig): {
  readonly weightRl: number
  readonly weightOpd: number
  readonly weightDemo: number
  readonly weightKl: number
} {
  const { weightRl, weightOpd, weightDemo, klWeight: weightKl } = config
  const plain = { weightRl, weightOpd, weightDemo, weightKl }
  switch (config.method) {
    case 'combined':
      // One surrogate: the weights are inside its advantages.
      return { ...plain, weightRl: 1, weightOpd: 1 }
    case 'ppo-gae':
      return {
        ...plain,
        weightRl: ppo.shareOfRl * weightRl,
        weightOpd: ppo.shareOfDistillation * weightOpd,
        weightKl: Math.max(weightKl, ppo.klWeight),
      }
    case 'hybrid':
    case 'grpo':
    case 'opd':
    case 'opd-token':
      return plain
  }
}
