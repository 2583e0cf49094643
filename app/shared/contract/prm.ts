import { oc } from '@orpc/contract'
import { z } from 'zod'
import { hintProposalSchema, noteSchema } from '../domain/hint.ts'
import { newVoteSchema, rewardValueSchema } from '../domain/turn.ts'

/** Everything after a reply and before the next main reply. */
export const nextStateSchema = z.object({
  /** The request the reply answered. */
  request: z.string(),
  reply: z.string(),
  /** Messages after the reply, oldest first, as they were typed or returned. */
  messages: z.array(z.object({ role: z.enum(['user', 'tool', 'system']), text: z.string() })),
  /** Explicit signals on the turn. */
  signals: z.array(
    z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('thumb'),
        value: z.union([z.literal(1), z.literal(-1)]),
        text: z.string(),
      }),
      z.object({ kind: z.literal('edit'), text: z.string() }),
      z.object({ kind: z.literal('regenerate') }),
      z.object({ kind: z.literal('exit-code'), code: z.number().int() }),
    ]),
  ),
})
export type NextState = z.infer<typeof nextStateSchema>

export const judgeOptionsSchema = z.object({
  mode: z.enum(['off', 'score', 'generate']),
  votes: z.number().int().positive(),
  /** Learned weights of rules by name; 1 where absent. */
  ruleWeights: z.record(z.string(), z.number()),
  /** The model judge sees the reply and what came next alone, as in the paper. */
  hidesRequest: z.boolean().optional(),
})
export type JudgeOptions = z.infer<typeof judgeOptionsSchema>

export const verdictSchema = z.object({
  reward: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('undecided') }),
    z.object({
      kind: z.literal('decided'),
      value: rewardValueSchema,
      by: z.enum(['votes', 'thumb', 'edit']),
    }),
  ]),
  votes: z.array(newVoteSchema),
  hints: z.array(hintProposalSchema),
})
export type Verdict = z.infer<typeof verdictSchema>

export const selfTestSchema = z.object({
  mode: z.enum(['score', 'generate']),
  macroF1: z.number(),
  cases: z.number().int(),
  /** false = the model judge abstains and the rules decide alone. */
  passed: z.boolean(),
})
export type SelfTest = z.infer<typeof selfTestSchema>

/** Host → PRM worker. */
export const prmContract = {
  judge: oc
    .input(
      z.object({ state: nextStateSchema, options: judgeOptionsSchema, notes: z.array(noteSchema) }),
    )
    .output(verdictSchema),
  selfTest: oc.input(z.object({ mode: z.enum(['score', 'generate']) })).output(selfTestSchema),
}

/** PRM worker → host: the one `Judge` port; the host owns the model. */
export const judgePortContract = {
  /** Log-probabilities (nats) of each label as the text that follows the prompt. */
  score: oc
    .input(
      z.object({
        system: z.string(),
        user: z.string(),
        prefix: z.string(),
        labels: z.array(z.string()).min(2),
      }),
    )
    .output(z.object({ logProbs: z.array(z.number()) })),
  generate: oc
    .input(
      z.object({
        system: z.string(),
        user: z.string(),
        temperature: z.number(),
        seed: z.number().int(),
        maxTokens: z.number().int().positive(),
      }),
    )
    .output(z.object({ text: z.string() })),
}
