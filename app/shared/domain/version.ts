import { z } from 'zod'
import { runReportSchema } from './training.ts'

/** One check of the gate, in the order in which it ran. */
export const gateCheckSchema = z.object({
  name: z.enum(['numbers', 'drift', 'length', 'repetition', 'preference', 'probe']),
  verdict: z.enum(['passed', 'failed', 'not-tested']),
  /** One sentence in plain words, with the numbers. */
  sentence: z.string(),
  value: z.number().nullable(),
  limit: z.number().nullable(),
})
export type GateCheck = z.infer<typeof gateCheckSchema>

export const gateReportSchema = z.object({
  passed: z.boolean(),
  checks: z.array(gateCheckSchema),
  /** One sentence for the status line. */
  sentence: z.string(),
  seconds: z.number(),
})
export type GateReport = z.infer<typeof gateReportSchema>

export const versionStateSchema = z.enum(['candidate', 'active', 'retired', 'rejected'])

/** An adapter version: v1, v2 … ; 0 is the base and has no row. */
export const versionSchema = z.object({
  version: z.number().int().positive(),
  parent: z.number().int().min(0),
  modelId: z.string(),
  state: versionStateSchema,
  path: z.string(),
  sha256: z.string(),
  sampleIds: z.array(z.string()),
  report: runReportSchema,
  gate: gateReportSchema.nullable(),
  /** Set when a hint or sample it was trained on was vetoed or deleted afterwards. */
  tainted: z.string().nullable(),
  createdAt: z.number(),
  activatedAt: z.number().nullable(),
})
export type Version = z.infer<typeof versionSchema>
