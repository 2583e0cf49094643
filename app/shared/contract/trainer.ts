import { eventIterator, oc } from '@orpc/contract'
import { z } from 'zod'
import {
  exchangeSchema,
  overlapSchema,
  runReportSchema,
  sampleSchema,
  stepReportSchema,
  trainingConfigSchema,
} from '../domain/training.ts'

const ids = z.array(z.number().int())

export const trainRequestSchema = z.object({
  config: trainingConfigSchema,
  samples: z.array(sampleSchema),
  anchors: z.array(exchangeSchema),
  /** The token that ends a reply; null = the anchor does not look at endings. */
  endId: z.number().int().nullable(),
  /** The active adapter's file; null = start from the base. */
  parentPath: z.string().nullable(),
  /** Optimiser state beside the parent; null = fresh moments. */
  parentStatePath: z.string().nullable(),
  /** Adapter files by version, for the guard; version 0 is the base and absent. */
  versionPaths: z.record(z.string(), z.string()),
  /** Where the candidate and its optimiser state are written, each by temporary name and rename. */
  adapterPath: z.string(),
  statePath: z.string(),
  /** Running median of gradient norms of earlier steps; null at the start. */
  medianGradientNorm: z.number().nullable(),
})
export type TrainRequest = z.infer<typeof trainRequestSchema>

export const trainEventSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('phase'),
    phase: z.enum(['loading', 'guard', 'teacher', 'updating', 'writing']),
  }),
  z.object({ kind: z.literal('overlap'), overlap: overlapSchema }),
  z.object({ kind: z.literal('step'), step: stepReportSchema }),
  z.object({ kind: z.literal('done'), report: runReportSchema }),
])
export type TrainEvent = z.infer<typeof trainEventSchema>

export const probePositionSchema = z.object({
  /** Tokens up to and excluding the probed position. */
  prefixIds: ids,
  /** KL(old ‖ new) at that position, nats. */
  kl: z.number(),
  /** The likeliest tokens of old and new together, with both log-probabilities. */
  tokenIds: ids,
  oldLogProbs: z.array(z.number()),
  newLogProbs: z.array(z.number()),
})
export type ProbePosition = z.infer<typeof probePositionSchema>

export const trainerDeviceSchema = z.enum(['auto', 'cpu'])
/** `auto`: the first GPU that passes its test against the processor, else the processor. */
export type TrainerDevice = z.infer<typeof trainerDeviceSchema>

/** What the products of a training step run on. */
export const trainerBackendSchema = z.object({
  /** The processor or GPU, in ggml's words. */
  device: z.string(),
  kind: z.enum(['cpu', 'cuda', 'vulkan', 'metal']),
  /** Why no GPU trains; null when one does, and when none was asked for. */
  gpuReason: z.string().nullable(),
  /** Instruction set of Hone's own kernels; null = ggml alone. */
  kernels: z.string().nullable(),
  /** Why no own kernels run; null when they do. */
  reason: z.string().nullable(),
  /** How many times as long training takes without them; null when they run, and where nobody measured. */
  slowdown: z.object({ low: z.number(), high: z.number() }).nullable(),
})
export type TrainerBackend = z.infer<typeof trainerBackendSchema>

/** Host → trainer worker. */
export const trainerContract = {
  load: oc
    .input(z.object({ modelPath: z.string(), device: trainerDeviceSchema.default('cpu') }))
    .output(
      z.object({
        architecture: z.string(),
        layers: z.number(),
        width: z.number(),
        backend: trainerBackendSchema,
      }),
    ),
  /** Looks what training would run on, without a model; the first time kernels may be compiled. */
  backend: oc.input(z.object({ device: trainerDeviceSchema })).output(trainerBackendSchema),
  train: oc.input(trainRequestSchema).output(eventIterator(trainEventSchema)),
  /** Mean KL(base ‖ adapter) over the reply positions of each exchange, nats at T = 1. */
  drift: oc
    .input(z.object({ adapterPath: z.string(), exchanges: z.array(exchangeSchema) }))
    .output(z.object({ kl: z.array(z.number()) })),
  /** The position in `exchanges` where old and new differ most. */
  probe: oc
    .input(
      z.object({
        oldPath: z.string().nullable(),
        newPath: z.string().nullable(),
        exchanges: z.array(exchangeSchema),
      }),
    )
    .output(probePositionSchema),
  /** Frees the model (about 1 GB for the default one) until the next call loads it again. */
  unload: oc.output(z.object({ unloaded: z.boolean() })),
}

/** Words of the shared Int32Array between governor and trainer. */
export const leaseWords = { stop: 0, threads: 1, cancel: 2, length: 3 } as const
