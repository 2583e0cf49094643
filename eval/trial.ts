// One row set of the table: what is run, in full. Two runs with the same configuration are the same row.
import { z } from 'zod'
import { trainingConfigSchema } from '../app/shared/domain/training.ts'

export const overridesSchema = trainingConfigSchema
  .pick({ topK: true, selection: true, support: true, teacher: true, differenceClip: true })
  .partial()

export const trialConfigSchema = z.object({
  /** File name of the base model. */
  model: z.string(),
  setting: z.enum(['joint', 'separate']),
  /** One in a separate run; in a joint run all of them take turns in one data folder. */
  personas: z.array(z.string()).min(1),
  method: z.string(),
  seed: z.number().int(),
  sessionsCap: z.number().int(),
  /** Rounds between trainings; a round is one session of each persona. */
  trainEvery: z.number().int(),
  firstReplies: z.number().int(),
  controlReplies: z.number().int(),
  wording: z.enum(['open', 'held-out', 'all']),
  wrongSignals: z.number(),
  overrides: overridesSchema,
  /** Who words the complaints: `templates`, or the model or endpoint that does. */
  user: z.string(),
})
export type TrialConfig = z.infer<typeof trialConfigSchema>

/** The same text for the same configuration, however its fields were put together. */
export function keyOf(config: TrialConfig): string {
  return JSON.stringify(config, (_, value: unknown) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).toSorted(byName)) : value,
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1
}

/** The ablation in words: `K = 8`, `teacher active`. */
export function variantOf({ overrides }: Pick<TrialConfig, 'overrides'>): string {
  const { topK, selection, support, teacher, differenceClip } = overrides
  return [
    topK === undefined ? '' : `K = ${topK}`,
    selection === undefined ? '' : `${selection} hint`,
    support === undefined ? '' : `support ${support}`,
    teacher === undefined ? '' : `teacher ${teacher}`,
    differenceClip === undefined ? '' : `C = ${differenceClip}`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

export function trialName(config: TrialConfig): string {
  const variant = variantOf(config)
  return [
    config.setting === 'joint' ? `joint (${config.personas.join(', ')})` : config.personas[0],
    config.method,
    ...(variant === '' ? [] : [variant]),
    ...(config.wrongSignals > 0 ? [`${(config.wrongSignals * 100).toFixed(0)}% wrong`] : []),
    `seed ${config.seed}`,
  ].join(' · ')
}
