import { z } from 'zod'

export const rewardValueSchema = z.union([z.literal(-1), z.literal(0), z.literal(1)])
export type RewardValue = z.infer<typeof rewardValueSchema>

/** What is known about a turn's reward. *undecided* is not 0. */
export const rewardSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('waiting') }),
  z.object({ kind: z.literal('undecided') }),
  z.object({
    kind: z.literal('decided'),
    value: rewardValueSchema,
    by: z.enum(['votes', 'thumb', 'edit']),
  }),
])
export type Reward = z.infer<typeof rewardSchema>

export const finishSchema = z.enum(['stop', 'length', 'stopped', 'interrupted', 'failed'])
export type Finish = z.infer<typeof finishSchema>

/** One assistant reply with everything that training needs; ids are never re-made from text. */
export const turnSchema = z.object({
  id: z.string(),
  chatId: z.string(),
  messageId: z.string(),
  kind: z.enum(['main', 'side']),
  /** The ids the policy was given, scaffold included. */
  promptIds: z.array(z.number().int()),
  /** The same prompt without the scaffold; equal to `promptIds` when no note was in use. */
  bareIds: z.array(z.number().int()),
  /** Sampled ids, the end token included when the reply ended by itself. */
  responseIds: z.array(z.number().int()),
  /** Full-softmax log-probabilities at `temperature`, one per response id; null where unknown. */
  logProbs: z.array(z.number()).nullable(),
  temperature: z.number(),
  topP: z.number(),
  topK: z.number(),
  minP: z.number(),
  seed: z.number().int(),
  /** Adapter version that answered; 0 = base. */
  version: z.number().int(),
  modelId: z.string(),
  /** Notes whose text was in the prompt. */
  scaffoldNoteIds: z.array(z.string()),
  /** How many old messages did not fit and were left out. */
  droppedMessages: z.number().int(),
  finish: finishSchema,
  timeToFirstTokenMs: z.number().nullable(),
  tokensPerSecond: z.number().nullable(),
  /** Held out for the gate: never trains. */
  heldOut: z.boolean(),
  reward: rewardSchema,
  createdAt: z.number(),
})
export type Turn = z.infer<typeof turnSchema>

export const voteSchema = z.object({
  id: z.string(),
  turnId: z.string(),
  source: z.enum(['rule', 'judge', 'user']),
  /** Rule name, prompt id, or the kind of explicit signal. */
  name: z.string(),
  /** null = an invalid vote: counted, never a 0. */
  value: rewardValueSchema.nullable(),
  weight: z.number(),
  /** The judge's raw text, or the cue that made the rule speak. */
  raw: z.string(),
  durationMs: z.number(),
  createdAt: z.number(),
})
export type Vote = z.infer<typeof voteSchema>
export const newVoteSchema = voteSchema.omit({ id: true, turnId: true, createdAt: true })
export type NewVote = z.infer<typeof newVoteSchema>
