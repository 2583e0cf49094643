import { z } from 'zod'
import { differenceBins } from './difference-bins.ts'

const ids = z.array(z.number().int())

/** A hint as training sees it: the prompt with the hint in it, tokenised by the host. */
export const sampleHintSchema = z.object({ hintId: z.string(), text: z.string(), promptIds: ids })

/** One turn or demonstration that can move weights. */
export const sampleSchema = z.object({
  id: z.string(),
  kind: z.enum(['turn', 'demonstration']),
  turnId: z.string().nullable(),
  /** The session it came from. */
  chatId: z.string().nullable(),
  /** The bare prompt: what the student sees. */
  promptIds: ids,
  /** Reply ids, end token included. */
  responseIds: ids,
  temperature: z.number(),
  /** The server's log-probabilities of `responseIds`; null = importance 1, guard skipped. */
  samplerLogProbs: z.array(z.number()).nullable(),
  /** The prompt the server really saw (with scaffold), for the guard; null = the bare prompt. */
  sampledPromptIds: ids.nullable(),
  /** Adapter version that sampled it. */
  version: z.number().int(),
  reward: z.union([z.literal(-1), z.literal(1)]).nullable(),
  /** Which reply tokens the reward is about, one per id; null = all. An edit rejects only what it took out. */
  rewardMask: z.array(z.boolean()).nullable(),
  /** At most 3, shortest first. */
  hints: z.array(sampleHintSchema),
  /** Notes that made or scaffolded it; a veto of one of these marks the versions trained on it. */
  noteIds: z.array(z.string()),
  origin: z.enum(['reply', 'edited-reply', 'scaffolded-reply', 'accepted-revision', 'practice']),
  createdAt: z.number(),
})
export type Sample = z.infer<typeof sampleSchema>

export const trainingConfigSchema = z.object({
  method: z.enum(['hybrid', 'grpo', 'opd', 'opd-token', 'combined', 'ppo-gae']),
  /** K of the overlap and of the support. */
  topK: z.number().int().positive(),
  selection: z.enum(['sequence', 'token', 'shortest', 'longest', 'random']),
  support: z.enum(['student', 'teacher', 'overlap', 'union']),
  teacher: z.enum(['base', 'active']),
  /** C: bound of the log-probability difference in distillation. */
  differenceClip: z.number().positive(),
  clipLow: z.number(),
  clipHigh: z.number(),
  weightRl: z.number(),
  weightOpd: z.number(),
  weightDemo: z.number(),
  weightAnchor: z.number(),
  /** Of the anchor's second part: that neutral replies end where the base ends them. */
  weightEnding: z.number().min(0),
  negativeWeight: z.number(),
  /** β of the penalty KL_k3(θ ‖ base) on sampled tokens; 0 = none. */
  klWeight: z.number().min(0),
  rank: z.number().int().positive(),
  alpha: z.number().positive(),
  learningRate: z.number().positive(),
  schedule: z.enum(['constant', 'cosine']),
  gradientClip: z.number().positive(),
  /** Optimiser updates in which rewards and distillation take part. */
  passes: z.number().int().positive(),
  /** Further updates on demonstrations and anchor alone. */
  demonstrationPasses: z.number().int().min(0),
  anchorsPerStep: z.number().int().min(0),
  /** Longest sequence in tokens; longer prompts lose their middle, replies are never cut silently. */
  sequenceLimit: z.number().int().positive(),
  seed: z.number().int(),
})
export type TrainingConfig = z.infer<typeof trainingConfigSchema>

export const defaultTrainingConfig: TrainingConfig = {
  method: 'hybrid',
  topK: 4,
  selection: 'sequence',
  support: 'student',
  teacher: 'base',
  differenceClip: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  weightRl: 1,
  weightOpd: 1,
  weightDemo: 1,
  weightAnchor: 1,
  weightEnding: 0.2,
  negativeWeight: 0.3,
  klWeight: 0,
  rank: 16,
  alpha: 32,
  learningRate: 5e-4,
  schedule: 'constant',
  gradientClip: 1,
  passes: 2,
  demonstrationPasses: 4,
  anchorsPerStep: 4,
  sequenceLimit: 1024,
  seed: 1,
}

/** A neutral exchange that keeps the model where it was: prompt ids, then the reply. */
export const exchangeSchema = z.object({ promptIds: ids, responseIds: ids })
export type Exchange = z.infer<typeof exchangeSchema>

/** Over the support's tokens, before the clip. */
export const differencesSchema = z.object({
  /** C. */
  clip: z.number(),
  /** The first bin lies below `low`, the last from `high` on. */
  counts: z.array(z.number().int()).length(differenceBins.count),
})
export type Differences = z.infer<typeof differencesSchema>

/** One optimiser update. */
export const stepReportSchema = z.object({
  step: z.number().int(),
  steps: z.number().int(),
  loss: z.number(),
  lossRl: z.number().nullable(),
  lossOpd: z.number().nullable(),
  lossDemo: z.number().nullable(),
  lossAnchor: z.number().nullable(),
  /** KL of where neutral replies end, nats a reply, before its weight; null without the anchor. */
  lossEnding: z.number().nullable().default(null),
  /** KL_k3(θ ‖ base) on sampled tokens, before its weight; null without the penalty. */
  lossKl: z.number().nullable().default(null),
  /** ½·(V − return)², of `ppo-gae` alone. */
  lossValue: z.number().nullable().default(null),
  gradientNorm: z.number(),
  learningRate: z.number(),
  /** Signed mean of served minus re-scored log-probability over the samples that can be compared. */
  logProbGap: z.number().nullable(),
  /** Teacher's probability mass outside the support, mean over positions; null without distillation. */
  outsideMass: z.number().nullable(),
  /** Null without distillation. */
  differences: differencesSchema.nullable().default(null),
  tokens: z.number().int(),
  seconds: z.number(),
})
export type StepReport = z.infer<typeof stepReportSchema>

const topList = z.object({ ids, logProbs: z.array(z.number()) })

/** Per-position overlap of one sample with each candidate hint: the rows of the heat map. */
export const overlapSchema = z.object({
  sampleId: z.string(),
  responseIds: ids,
  topK: z.number().int(),
  /** Student's top-K per position. */
  student: z.array(topList),
  hints: z.array(
    z.object({
      hintId: z.string(),
      text: z.string(),
      /** |student top-K ∩ teacher top-K| per position. */
      overlap: ids,
      teacher: z.array(topList),
    }),
  ),
  /** Index into `hints` of the chosen hint, per position. */
  chosen: ids,
})
export type Overlap = z.infer<typeof overlapSchema>

/** Why a sample took no part in a run; `isSetAside` ones stay ready for the next. */
export const exclusionSchema = z.object({
  sampleId: z.string(),
  reason: z.string(),
  isSetAside: z.boolean().optional(),
})

export const runReportSchema = z.object({
  kind: z.enum(['trained', 'refused', 'no-signal']),
  /** Sentence with the fact, when nothing was written. */
  reason: z.string().nullable(),
  steps: z.array(stepReportSchema),
  usedSampleIds: z.array(z.string()),
  excluded: z.array(exclusionSchema),
  seconds: z.number(),
  tokens: z.number(),
  seed: z.number(),
  config: trainingConfigSchema,
})
export type RunReport = z.infer<typeof runReportSchema>
