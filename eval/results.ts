// What is measured and kept: one JSON line for each finished part of the plan, appended when it is finished. A line that
// a kill cut short is dropped when the file is opened, and its part starts anew.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AppError } from '../app/shared/errors.ts'
import { trialConfigSchema, keyOf, type TrialConfig } from './trial.ts'

/** Satisfied and asked. */
const shareSchema = z.tuple([z.number().int(), z.number().int()])
export type Share = readonly [number, number]

export const rowSchema = z.object({
  setting: z.enum(['joint', 'separate']),
  persona: z.string(),
  method: z.string(),
  seed: z.number().int(),
  sessionsToTarget: z.number(),
  cap: z.number(),
  firstReply: z.object({ before: shareSchema, after: shareSchema }),
  control: z.object({
    kl: z.number(),
    lengthRatio: z.number(),
    repetition: z.number(),
    /** Simple sums that were right. */
    arithmetic: z.object({ before: shareSchema, after: shareSchema }),
  }),
  seconds: z.number(),
  /** First replies of the sessions, `00 00 11 11`: a gap after each training. */
  sessions: z.string(),
  reached: z.boolean(),
  wrongSignals: z.number(),
  /** What differs from the app's settings, in words; empty = nothing. */
  variant: z.string(),
  /** Mean nearness to the wish, 0–1, of first replies after so many messages of the user. */
  preference: z.array(z.object({ interactions: z.number(), score: z.number() })),
  judge: z.object({
    /** Verdicts as the user's reaction meant them, of all turns with a complaint or thanks. */
    agreed: shareSchema,
    /** Turns on which the model judge voted, its tokens and the seconds of all votes. */
    asked: z.number(),
    tokens: z.number(),
    seconds: z.number(),
    turns: z.number(),
  }),
  /** Proposed hints that say what the user wants. */
  hints: shareSchema,
  training: z.object({
    runs: z.number(),
    live: z.number(),
    seconds: z.number(),
    practiceSeconds: z.number(),
    /** Teacher's probability outside the support, mean over steps; null without distillation. */
    outsideMass: z.number().nullable(),
  }),
  /** Messages that a model wrote for the user, and those where a template had to stand in. */
  userModel: z.object({ written: z.number(), templates: z.number() }).nullable(),
})
export type Row = z.infer<typeof rowSchema>

const baseSchema = z.object({
  kind: z.literal('base'),
  model: z.string(),
  persona: z.string(),
  wish: z.string(),
  /** One for each of the persona's measured requests, in order. */
  bare: z.array(z.boolean()),
  /** Nearness of the same replies, 0–1. */
  scores: z.array(z.number()),
  /** The same requests with the wish as a hint line. */
  told: z.array(z.boolean()),
  seconds: z.number(),
})
export type BaseRate = z.infer<typeof baseSchema>

const neutralSchema = z.object({
  kind: z.literal('neutral'),
  model: z.string(),
  /** Words of the reply to each neutral prompt, in order. */
  words: z.array(z.number()),
  repetition: z.number(),
  arithmetic: shareSchema,
  seconds: z.number(),
})
export type NeutralBase = z.infer<typeof neutralSchema>

const trialSchema = z.object({
  kind: z.literal('trial'),
  config: trialConfigSchema,
  rows: z.array(rowSchema),
  seconds: z.number(),
})
export type TrialResult = z.infer<typeof trialSchema>

const provenanceSchema = z.object({
  at: z.string(),
  machine: z.string(),
  /** Commit of the sources; with a mark where files differ from it. */
  commit: z.string(),
})
export type Provenance = z.infer<typeof provenanceSchema>

const entrySchema = z.discriminatedUnion('kind', [
  baseSchema.extend(provenanceSchema.shape),
  neutralSchema.extend(provenanceSchema.shape),
  trialSchema.extend(provenanceSchema.shape),
])
export type Entry = z.infer<typeof entrySchema>
export type Measured = BaseRate | NeutralBase | TrialResult

export interface Results {
  all(): readonly Entry[]
  base(model: string, persona: string, replies: number): BaseRate | null
  neutral(model: string, replies: number): NeutralBase | null
  trial(config: TrialConfig): TrialResult | null
  add(measured: Measured): void
}

/** `path` null = kept in memory only. */
export function openResults(path: string | null, provenance: () => Provenance): Results {
  const entries = path === null ? [] : readEntries(path)
  return {
    all: () => entries,
    base: (model, persona, replies) =>
      find(
        entries,
        (entry) =>
          entry.kind === 'base' &&
          entry.model === model &&
          entry.persona === persona &&
          entry.bare.length >= replies,
      ) as BaseRate | null,
    neutral: (model, replies) =>
      find(
        entries,
        (entry) =>
          entry.kind === 'neutral' && entry.model === model && entry.words.length === replies,
      ) as NeutralBase | null,
    trial: (config) =>
      find(
        entries,
        (entry) => entry.kind === 'trial' && keyOf(entry.config) === keyOf(config),
      ) as TrialResult | null,
    add(measured) {
      const entry = entrySchema.parse({ ...measured, ...provenance() })
      entries.push(entry)
      if (path === null) return
      mkdirSync(dirname(path), { recursive: true })
      appendFileSync(path, `${JSON.stringify(entry)}\n`)
    },
  }
}

function find(entries: readonly Entry[], isIt: (entry: Entry) => boolean): Entry | null {
  return entries.findLast(isIt) ?? null
}

function readEntries(path: string): Entry[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole.length < text.length) writeFileSync(path, whole)
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      const parsed = entrySchema.safeParse(jsonOf(line))
      if (parsed.success) return parsed.data
      throw new AppError(
        'corrupt',
        `line ${index + 1} of ${path} is no result of this version: ${parsed.error.issues[0]?.path.join('.') ?? ''} ${parsed.error.issues[0]?.message ?? ''}. Use another file with --results`,
      )
    })
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new AppError('corrupt', `a line of the results is no JSON: ${line.slice(0, 60)}`, {
      cause,
    })
  }
}
