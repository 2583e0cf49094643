import { z } from 'zod'
import { checkSchema } from './check.ts'

export const hintStateSchema = z.enum(['proposed', 'approved', 'edited', 'vetoed', 'expired'])
export type HintState = z.infer<typeof hintStateSchema>

/** One to three sentences that would have made a reply better. */
export const hintSchema = z.object({
  id: z.string(),
  turnId: z.string(),
  chatId: z.string(),
  text: z.string(),
  source: z.enum(['extracted', 'judged', 'thumb', 'edit', 'note']),
  /** The sentence of the user it was drawn from, as typed. */
  quote: z.string().nullable(),
  state: hintStateSchema,
  decidedBy: z.enum(['user', 'policy', 'filter']).nullable(),
  /** 0–1. */
  quality: z.number(),
  qualityReasons: z.array(z.string()),
  noteId: z.string().nullable(),
  /** Milliseconds during which the window was open and the hint was shown. */
  shownMs: z.number(),
  createdAt: z.number(),
  decidedAt: z.number().nullable(),
})
export type Hint = z.infer<typeof hintSchema>

/** What the filter proposes, before it has an id. */
export const hintProposalSchema = hintSchema.pick({
  text: true,
  source: true,
  quote: true,
  quality: true,
  qualityReasons: true,
})
export type HintProposal = z.infer<typeof hintProposalSchema>

export const scopeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('everywhere') }),
  /** A kind of request: those similar to the requests the note was said about. */
  z.object({ kind: z.literal('similar'), requests: z.array(z.string()) }),
  z.object({ kind: z.literal('chat'), chatId: z.string() }),
])
export type Scope = z.infer<typeof scopeSchema>

/** One preference, however often it was said. */
export const noteSchema = z.object({
  id: z.string(),
  text: z.string(),
  scope: scopeSchema,
  /** How many hints were merged into it. */
  count: z.number().int(),
  check: checkSchema.nullable(),
  /** `prompt`: helps as a scaffold; `learned`: the weights carry it; `off`: vetoed or switched off. */
  state: z.enum(['prompt', 'learned', 'off']),
  learnedIn: z.number().int().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
})
export type Note = z.infer<typeof noteSchema>
