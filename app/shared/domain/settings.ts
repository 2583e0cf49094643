import { z } from 'zod'
import { samplingSchema } from './chat.ts'
import { defaultTrainingConfig, trainingConfigSchema } from './training.ts'

export const settingsSchema = z.object({
  sampling: samplingSchema,
  systemPrompt: z.string(),
  hintPolicy: z.enum(['ask', 'after-delay', 'automatic']),
  hintDelayMinutes: z.number().positive(),
  scaffold: z.boolean(),
  scaffoldPlace: z.enum(['last-message', 'system']),
  practice: z.boolean(),
  schedule: z.enum(['as-i-chat', 'when-idle', 'paused']),
  idleMinutes: z.number().positive(),
  /** A run is due at this many samples, or one demonstration. */
  samplesDue: z.number().int().positive(),
  /** Quiet time before a due run starts. */
  quietSeconds: z.number().min(0),
  judge: z.object({
    mode: z.enum(['off', 'score', 'generate']),
    votes: z.number().int().positive(),
  }),
  /** The model judge is not shown the request, as in the paper. */
  judgeHidesRequest: z.boolean(),
  training: trainingConfigSchema,
  /** Where training runs; a process of its own costs a second at its start and cannot take the chats along. */
  trainerIsolation: z.enum(['thread', 'process']),
  /** `auto`: a GPU that passes its test against the processor, where there is one. */
  trainerDevice: z.enum(['auto', 'cpu']),
  theme: z.enum(['system', 'light', 'dark']),
})
export type Settings = z.infer<typeof settingsSchema>

export const defaultSettings: Settings = {
  sampling: { temperature: 0.6, topP: 1, topK: 0, minP: 0, maxTokens: 512 },
  systemPrompt: '',
  hintPolicy: 'after-delay',
  hintDelayMinutes: 10,
  scaffold: true,
  scaffoldPlace: 'last-message',
  practice: true,
  schedule: 'as-i-chat',
  idleMinutes: 5,
  samplesDue: 4,
  quietSeconds: 60,
  judge: { mode: 'score', votes: 3 },
  judgeHidesRequest: false,
  training: defaultTrainingConfig,
  trainerIsolation: 'thread',
  trainerDevice: 'auto',
  theme: 'system',
}
