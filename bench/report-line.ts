// What a measuring process says: one line of JSON on its standard output, the last that starts with a brace.
import { z } from 'zod'
import { AppError } from '../app/shared/errors.ts'

const positive = z.number().positive()

/** Of one process that ran training steps, ours or the peer's. */
export const stepReport = z.object({
  /** Of each measured step, after a warm-up one. */
  seconds: z.array(positive).min(1),
  /** Peak resident memory before the first step. */
  loadedBytes: positive,
  /** Peak resident memory of the whole process. */
  peakBytes: positive,
  loss: z.number(),
  /** Euclidean norm of the gradients of all pairs. */
  gradientNorm: positive,
  /** Instruction set of our kernels, null = ggml's own operators; absent from the peer. */
  kernels: z.string().nullable().optional(),
  /** Why there are none. */
  kernelsReason: z.string().nullable().optional(),
})

export type StepReport = z.infer<typeof stepReport>

/** Of one process that ran matrix products. */
export const productReport = z.object({
  rates: z.array(
    z.object({
      /** Rows and columns of W. */
      shape: z.tuple([positive, positive]),
      /** What computed: `AMX-BF16`, `ggml f32`, … */
      type: z.string(),
      gflops: positive,
    }),
  ),
  /** What cannot run here, with the reason. */
  skipped: z.array(z.object({ type: z.string(), reason: z.string() })).default([]),
})

export type ProductReport = z.infer<typeof productReport>

export const versionReport = z.object({ versions: z.record(z.string(), z.string()) })

/** Throws `corrupt` where the output has no such line, or one that does not fit. */
export function parseReport<T>(output: string, schema: z.ZodType<T>): T {
  const line = output.split('\n').findLast((text) => text.startsWith('{'))
  if (line === undefined) {
    throw new AppError('corrupt', `the measuring process printed no result: ${lastLine(output)}`)
  }
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw new AppError('corrupt', `the result is not JSON: ${line.slice(0, 80)}`, { cause })
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const place = issue?.path.join('.') ?? ''
  throw new AppError('corrupt', `the result does not fit at “${place}”: ${issue?.message ?? ''}`)
}

/** The last line with something on it: where Python and Node name the error. */
export function lastLine(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  return lines.findLast((line) => line !== '')?.slice(0, 200) ?? 'no output'
}
