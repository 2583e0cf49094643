import { eventIterator, oc } from '@orpc/contract'
import { z } from 'zod'
import { chatSchema, messageSchema } from '../domain/chat.ts'
import { hintSchema, noteSchema, scopeSchema } from '../domain/hint.ts'
import { settingsSchema } from '../domain/settings.ts'
import { overlapSchema, stepReportSchema } from '../domain/training.ts'
import { rewardSchema, turnSchema, voteSchema } from '../domain/turn.ts'
import { versionSchema } from '../domain/version.ts'
import { trainerBackendSchema } from './trainer.ts'

const ok = z.object({})
const chatId = z.object({ chatId: z.string() })
const messageId = z.object({ messageId: z.string() })
const turnId = z.object({ turnId: z.string() })
const hintId = z.object({ hintId: z.string() })

/** What the chat page shows of a turn. */
export const turnSummarySchema = turnSchema
  .pick({
    id: true,
    version: true,
    scaffoldNoteIds: true,
    droppedMessages: true,
    finish: true,
    timeToFirstTokenMs: true,
    tokensPerSecond: true,
    heldOut: true,
    reward: true,
  })
  .extend({
    /** The user's own thumb, if any. */
    thumb: z.union([z.literal(1), z.literal(-1)]).nullable(),
    hints: z.array(hintSchema),
    /** First failure of judging in words; null when all is well. */
    judgeError: z.string().nullable(),
  })
export type TurnSummary = z.infer<typeof turnSummarySchema>

export const messageViewSchema = messageSchema.extend({
  /** All messages under the same parent with the same role, oldest first, this one included. */
  siblingIds: z.array(z.string()),
  turn: turnSummarySchema.nullable(),
})
export type MessageView = z.infer<typeof messageViewSchema>

export const chatViewSchema = z.object({
  chat: chatSchema,
  /** The shown branch, from the first message to the leaf. */
  messages: z.array(messageViewSchema),
  /** Tokens of the shown branch as a prompt, and how many fit. */
  contextTokens: z.number().int(),
  contextSize: z.number().int(),
})
export type ChatView = z.infer<typeof chatViewSchema>

export const learningStatusSchema = z.object({
  phase: z.enum([
    'unavailable',
    'idle',
    'due',
    'judging',
    'practising',
    'training',
    'checking',
    'swapping',
    'paused',
  ]),
  /** One plain sentence for the status line. */
  sentence: z.string(),
  /** Samples that are ready, and how many make a run due. */
  ready: z.number().int(),
  due: z.number().int(),
  step: z.number().int().nullable(),
  steps: z.number().int().nullable(),
  activeVersion: z.number().int(),
  /** Why *Train now* is not possible at present; null when it is. */
  trainBlocked: z.string().nullable(),
  practiceBlocked: z.string().nullable(),
})
export type LearningStatus = z.infer<typeof learningStatusSchema>

export const rewardPointSchema = z.object({
  at: z.number(),
  turnId: z.string(),
  chatId: z.string(),
  version: z.number().int(),
  reward: rewardSchema,
  /** Mean of the last 10 decided rewards, this one included; null while there is none. */
  rolling: z.number().nullable(),
})

export const sessionPointSchema = z.object({
  chatId: z.string(),
  title: z.string(),
  startedAt: z.number(),
  /** Versions that answered first replies in it. */
  version: z.number().int(),
  /** Main replies that were the first to their request, and how many of these were accepted. */
  firstReplies: z.number().int(),
  accepted: z.number().int(),
  rejected: z.number().int(),
})

export const stepPointSchema = stepReportSchema.extend({ runId: z.string(), at: z.number() })

export const runSummarySchema = z.object({
  id: z.string(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  outcome: z.enum(['running', 'live', 'rejected', 'refused', 'no-signal', 'failed', 'interrupted']),
  /** The candidate it made; null when nothing was written. */
  version: z.number().int().nullable(),
  sentence: z.string(),
  sampleIds: z.array(z.string()),
  steps: z.array(stepReportSchema),
})
export type RunSummary = z.infer<typeof runSummarySchema>

export const curvesSchema = z.object({
  rewards: z.array(rewardPointSchema),
  sessions: z.array(sessionPointSchema),
  steps: z.array(stepPointSchema),
  /** 1-based index of the session that completed three accepted first replies in a row; null = not yet. */
  threeInARowAt: z.number().int().nullable(),
})
export type Curves = z.infer<typeof curvesSchema>

/** An overlap record with the tokens as text, for the heat map. */
export const heatMapSchema = overlapSchema.extend({
  runId: z.string(),
  turnId: z.string().nullable(),
  at: z.number(),
  responseTexts: z.array(z.string()),
  /** Text of every id that appears in the lists, by id. */
  tokenTexts: z.record(z.string(), z.string()),
})
export type HeatMap = z.infer<typeof heatMapSchema>

export const systemInfoSchema = z.object({
  appVersion: z.string(),
  model: z
    .object({
      id: z.string(),
      name: z.string(),
      path: z.string(),
      architecture: z.string(),
      contextSize: z.number().int(),
      sizeBytes: z.number(),
    })
    .nullable(),
  /** Why there is no model; null when one is loaded. */
  modelError: z.string().nullable(),
  compute: z.object({
    device: z.enum(['cuda', 'vulkan', 'metal', 'cpu']),
    /** Plain words, with the reason for a fall-back to the CPU. */
    sentence: z.string(),
    threads: z.number().int(),
  }),
  trainer: z.object({
    available: z.boolean(),
    sentence: z.string(),
    isolation: settingsSchema.shape.trainerIsolation,
    /** Hone ended while it trained: when that training began. Null unless it is why training runs apart. */
    crashedAt: z.number().nullable(),
  }),
  judge: z.object({
    sentence: z.string(),
    abstains: z.boolean(),
    /** Rules that thumbs have been compared with: on how many turns they said the same, and what they weigh now. */
    rules: z.array(
      z.object({
        rule: z.string(),
        agreed: z.number().int(),
        contradicted: z.number().int(),
        weight: z.number(),
      }),
    ),
  }),
  dataDir: z.string(),
  readOnly: z.string().nullable(),
})
export type SystemInfo = z.infer<typeof systemInfoSchema>

/** What the host tells every open window. A window that misses some re-reads on reconnect. */
export const appEventSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('token'),
    chatId: z.string(),
    messageId: z.string(),
    text: z.string(),
  }),
  z.object({ kind: z.literal('chat-changed'), chatId: z.string() }),
  z.object({ kind: z.literal('chats-changed') }),
  z.object({ kind: z.literal('hints-changed') }),
  z.object({ kind: z.literal('learning'), status: learningStatusSchema }),
  z.object({ kind: z.literal('step'), runId: z.string(), step: stepReportSchema }),
  z.object({ kind: z.literal('overlap'), runId: z.string(), sampleId: z.string() }),
  z.object({ kind: z.literal('curves-changed') }),
  z.object({ kind: z.literal('versions-changed') }),
  z.object({ kind: z.literal('settings-changed') }),
  z.object({ kind: z.literal('system-changed') }),
])
export type AppEvent = z.infer<typeof appEventSchema>

/** Renderer, demo user and benchmark → host. */
export const appContract = {
  system: {
    info: oc.output(systemInfoSchema),
    /** What training runs on. May take seconds the first time, and until a run in progress has ended. */
    trainer: oc.output(trainerBackendSchema),
    events: oc.output(eventIterator(appEventSchema)),
  },
  chats: {
    list: oc.output(z.array(chatSchema)),
    create: oc.output(chatSchema),
    view: oc.input(chatId).output(chatViewSchema),
    rename: oc
      .input(chatId.extend({ title: z.string().trim().min(1).max(200) }))
      .output(chatSchema),
    setLearn: oc.input(chatId.extend({ learn: z.boolean() })).output(chatSchema),
    /** To the trash; `restore` brings it back. */
    remove: oc.input(chatId).output(ok),
    restore: oc.input(chatId).output(chatSchema),
  },
  chat: {
    /** Stores the message, then answers. Returns as soon as the message is stored. */
    send: oc
      .input(chatId.extend({ text: z.string(), parentId: z.string().nullable().optional() }))
      .output(z.object({ userMessageId: z.string(), replyMessageId: z.string() })),
    stop: oc.input(chatId).output(ok),
    regenerate: oc.input(messageId).output(z.object({ replyMessageId: z.string() })),
    /** A sibling of the user's message with a new text, answered anew. */
    editAndResend: oc
      .input(messageId.extend({ text: z.string() }))
      .output(z.object({ userMessageId: z.string(), replyMessageId: z.string() })),
    /** The user writes how the reply should have been: it becomes a demonstration. */
    editReply: oc.input(messageId.extend({ text: z.string() })).output(messageSchema),
    selectBranch: oc.input(messageId).output(ok),
  },
  feedback: {
    thumb: oc
      .input(
        turnId.extend({
          value: z.union([z.literal(1), z.literal(-1), z.literal(0)]),
          text: z.string().max(2000).default(''),
        }),
      )
      .output(ok),
    votes: oc.input(turnId).output(z.array(voteSchema)),
  },
  hints: {
    list: oc.output(z.array(hintSchema)),
    approve: oc.input(hintId).output(hintSchema),
    veto: oc.input(hintId).output(hintSchema),
    edit: oc.input(hintId.extend({ text: z.string().trim().min(1).max(2000) })).output(hintSchema),
    /** Back to `proposed`. */
    undo: oc.input(hintId).output(hintSchema),
    /** The window was open and showed the hint for this long; the delay policy counts only this. */
    shown: oc
      .input(
        z.object({ hintIds: z.array(z.string()), milliseconds: z.number().min(0).max(60_000) }),
      )
      .output(ok),
  },
  notes: {
    list: oc.output(z.array(noteSchema)),
    update: oc
      .input(
        z.object({
          noteId: z.string(),
          text: z.string().trim().min(1).max(2000).optional(),
          scope: scopeSchema.optional(),
          state: z.enum(['prompt', 'off']).optional(),
        }),
      )
      .output(noteSchema),
    remove: oc.input(z.object({ noteId: z.string() })).output(ok),
  },
  learning: {
    status: oc.output(learningStatusSchema),
    trainNow: oc.output(ok),
    practiceNow: oc.output(ok),
    pause: oc.output(ok),
    resume: oc.output(ok),
    curves: oc.output(curvesSchema),
    runs: oc.output(z.array(runSummarySchema)),
    /** Samples that have overlap rows, newest first. */
    heatMaps: oc.output(
      z.array(
        z.object({
          runId: z.string(),
          sampleId: z.string(),
          turnId: z.string().nullable(),
          at: z.number(),
          hints: z.number(),
          positions: z.number(),
          label: z.string(),
        }),
      ),
    ),
    heatMap: oc.input(z.object({ runId: z.string(), sampleId: z.string() })).output(heatMapSchema),
  },
  versions: {
    list: oc.output(z.array(versionSchema)),
    /** 0 = the base. Takes effect between replies. */
    activate: oc.input(z.object({ version: z.number().int().min(0) })).output(ok),
    /** Writes the GGUF LoRA into the export folder and returns where, with the command that uses it. */
    export: oc
      .input(z.object({ version: z.number().int().positive() }))
      .output(z.object({ path: z.string(), command: z.string() })),
  },
  settings: {
    get: oc.output(settingsSchema),
    update: oc.input(settingsSchema.partial()).output(settingsSchema),
  },
}
