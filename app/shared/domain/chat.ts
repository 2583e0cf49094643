import { z } from 'zod'

export const roleSchema = z.enum(['system', 'user', 'assistant', 'tool'])
export type Role = z.infer<typeof roleSchema>

export const samplingSchema = z.object({
  temperature: z.number().min(0).max(2),
  topP: z.number().gt(0).max(1),
  topK: z.number().int().min(0),
  minP: z.number().min(0).max(1),
  maxTokens: z.number().int().positive(),
})
export type Sampling = z.infer<typeof samplingSchema>

/** One conversation; also one *session* of the learning statistics. */
export const chatSchema = z.object({
  id: z.string(),
  title: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** false = "do not learn from this chat". */
  learn: z.boolean(),
  /** The last message of the branch that is shown. */
  activeLeafId: z.string().nullable(),
  deletedAt: z.number().nullable(),
})
export type Chat = z.infer<typeof chatSchema>

export const messageStatusSchema = z.enum([
  'streaming',
  'complete',
  'stopped',
  'interrupted',
  'failed',
])

/** Messages form a tree: an edit or a regeneration is a sibling under the same parent. */
export const messageSchema = z.object({
  id: z.string(),
  chatId: z.string(),
  parentId: z.string().nullable(),
  role: roleSchema,
  text: z.string(),
  status: messageStatusSchema,
  /** The sentence shown when the status is `failed`. */
  error: z.string().nullable(),
  /** For assistant messages: the turn that produced it; null for a text the user typed in its place. */
  turnId: z.string().nullable(),
  /** Set on a reply that the user wrote by editing another: that reply's id. */
  editOf: z.string().nullable(),
  createdAt: z.number(),
})
export type Message = z.infer<typeof messageSchema>
