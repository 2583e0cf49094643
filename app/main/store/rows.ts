// Schemas of the rows that only the store knows; those of the product are in app/shared/domain.
import { z } from 'zod'
import {
  defaultTrainingConfig,
  overlapSchema,
  runReportSchema,
  sampleSchema,
  stepReportSchema,
} from '../../shared/domain/training.ts'
import { json } from './codecs.ts'
import type { Codec } from './codecs.ts'
import type { JudgeTask, Signal, StoredRun, StoredSample } from './types.ts'

export const signalSchema: z.ZodType<Signal> = z.object({
  id: z.string(),
  turnId: z.string(),
  kind: z.enum(['thumb', 'edit', 'regenerate', 'next-message', 'exit-code']),
  value: z.number().nullable(),
  text: z.string(),
  messageId: z.string().nullable(),
  createdAt: z.number(),
})

export const judgeTaskSchema: z.ZodType<JudgeTask> = z.object({
  turnId: z.string(),
  state: z.enum(['owed', 'done', 'failed']),
  error: z.string().nullable(),
  updatedAt: z.number(),
})

/** The sample's own fields and its life, side by side in one row. */
export const sampleRowSchema = sampleSchema.extend({
  state: z.enum(['ready', 'used', 'returned', 'retired', 'vetoed']),
  reason: z.string().nullable(),
  uses: z.number().int().min(0),
})
export type SampleRow = z.infer<typeof sampleRowSchema>

export function storedSample(row: SampleRow): StoredSample {
  const { state, reason, uses, ...sample } = row
  return { sample, state, reason, uses }
}

export const runSchema: z.ZodType<StoredRun> = z.object({
  id: z.string(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  outcome: z.enum(['running', 'live', 'rejected', 'refused', 'no-signal', 'failed', 'interrupted']),
  version: z.number().int().nullable(),
  sentence: z.string(),
  sampleIds: z.array(z.string()),
  report: runReportSchema.nullable(),
})

export const stepRowSchema = z.object({
  runId: z.string(),
  at: z.number(),
  step: stepReportSchema,
})
export type StepRow = z.infer<typeof stepRowSchema>

export const overlapRowSchema = z.object({
  runId: z.string(),
  sampleId: z.string(),
  at: z.number(),
  hints: z.number().int(),
  positions: z.number().int(),
  overlap: overlapSchema,
})
export type OverlapRow = z.infer<typeof overlapRowSchema>

/** A run's report; one written before a setting existed gets that setting's default. */
export const report: Codec<unknown> = {
  encode: (value) => json.encode(value),
  decode: (stored) => {
    const value = json.decode(stored)
    if (!isRecord(value) || !isRecord(value['config'])) return value
    return { ...value, config: { ...defaultTrainingConfig, ...value['config'] } }
  },
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
