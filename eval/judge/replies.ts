// The hand-written replies and their fixed halves: odd lines are for development, even lines for test.
// Rules may be changed after looking at the development half, and never after looking at the other.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { nextStateSchema, type NextState } from '../../app/shared/contract/prm.ts'
import type { RewardValue } from '../../app/shared/domain/turn.ts'

export type Half = 'dev' | 'test'

export interface LabelledReply {
  readonly id: string
  readonly language: string
  readonly kind: string
  readonly half: Half
  readonly state: NextState
  readonly label: RewardValue
}

const rowSchema = z.strictObject({
  id: z.string(),
  language: z.enum(['en', 'zh', 'mixed']),
  kind: z.string(),
  request: z.string(),
  reply: z.string(),
  next: nextStateSchema.shape.messages,
  signals: nextStateSchema.shape.signals.default([]),
  label: z.union([z.literal(1), z.literal(0), z.literal(-1)]),
})

/** All rows in order, or those of one half. */
export function labelledReplies(half?: Half): LabelledReply[] {
  const lines = readFileSync(new URL('./replies.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const all = lines.map((line, index): LabelledReply => {
    const { id, language, kind, request, reply, next, signals, label } = rowSchema.parse(
      JSON.parse(line),
    )
    const state = { request, reply, messages: next, signals }
    return { id, language, kind, half: index % 2 === 0 ? 'dev' : 'test', state, label }
  })
  return half === undefined ? all : all.filter((row) => row.half === half)
}
