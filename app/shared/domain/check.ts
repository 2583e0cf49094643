import { z } from 'zod'

/** A rule made from a note's own text that can be checked without a model. */
export const checkSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('max-words'), words: z.number().int().positive() }),
  z.object({ kind: z.literal('min-words'), words: z.number().int().positive() }),
  z.object({ kind: z.literal('no-lists') }),
  z.object({ kind: z.literal('no-bold') }),
  z.object({ kind: z.literal('contains'), phrase: z.string().min(1) }),
  z.object({ kind: z.literal('lacks'), phrase: z.string().min(1) }),
])
export type Check = z.infer<typeof checkSchema>
