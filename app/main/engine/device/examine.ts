// Finds the GPUs of one kind and tries each on the test model. A driver that aborts or a device that ggml cannot take
// ends the whole process, so this runs in a process of its own, which tells what it knows line by line; the parent's
// side is at the end. Packaged Electron cannot start one (its fuses forbid plain Node), there it runs where it is.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../../shared/errors.ts'
import { findGpus, Runtime, type Gpu } from '../ffi/index.ts'
import type { GpuKind } from '../types.ts'
import { compareWithCpu, judge } from './compare.ts'

export interface ExaminedGpu extends Gpu {
  /** Null = it may be used for training; else why not. */
  readonly trouble: string | null
}

export interface Examination {
  readonly gpus: readonly ExaminedGpu[]
  /** Why there are none; null where there are some. */
  readonly reason: string | null
}

export interface ExamineRequest {
  readonly kind: GpuKind
  readonly threads: number
}

export type Message =
  | { readonly step: 'found'; readonly gpus: readonly Gpu[] }
  | { readonly step: 'missing'; readonly reason: string }
  | { readonly step: 'tested'; readonly name: string; readonly trouble: string | null }

async function examineHere(
  { kind, threads }: ExamineRequest,
  tell: (message: Message) => void,
): Promise<void> {
  let gpus: readonly Gpu[]
  try {
    gpus = findGpus(kind)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return tell({ step: 'missing', reason: error.message })
  }
  tell({ step: 'found', gpus })
  for (const gpu of gpus) {
    tell({ step: 'tested', name: gpu.name, trouble: await troubleOf(gpu, threads) })
  }
}

async function troubleOf(gpu: Gpu, threads: number): Promise<string | null> {
  try {
    using device = new Runtime({ gpu, threads })
    using cpu = new Runtime({ threads })
    return judge(await compareWithCpu(device, cpu, { threads }))
  } catch (error) {
    return `its test failed: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** What is known of one kind's devices; asked once per process, since a driver does not change meanwhile. */
export function examine(request: ExamineRequest): Promise<Examination> {
  const known = examinations.get(request.kind)
  if (known !== undefined) return known
  const fresh = process.versions['electron'] === undefined ? inChild(request) : inProcess(request)
  examinations.set(request.kind, fresh)
  return fresh
}

const examinations = new Map<GpuKind, Promise<Examination>>()

/** Software devices need half a minute, real ones a few seconds; one that hangs must not keep the engine waiting. */
const examineTimeoutMs = 120_000

async function inChild({ kind, threads }: ExamineRequest): Promise<Examination> {
  const args = [fileURLToPath(import.meta.url), kind, String(threads)]
  const options = { timeout: examineTimeoutMs, killSignal: 'SIGKILL' } as const
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout) => {
      const messages = stdout
        .split('\n')
        .filter((line) => line.startsWith(mark))
        .map((line) => JSON.parse(line.slice(mark.length)) as Message)
      resolve(summarise(kind, messages, error === null ? null : endOf(error)))
    })
  })
}

function endOf({
  killed,
  signal,
  code,
}: Parameters<NonNullable<ExecCallback>>[0] & object): string {
  if (killed === true) return `its test took more than ${examineTimeoutMs / 1000} s`
  return `its test ended the process (${signal ?? `code ${code ?? 'unknown'}`})`
}

type ExecCallback = Parameters<typeof execFile>[3]

async function inProcess(request: ExamineRequest): Promise<Examination> {
  const messages: Message[] = []
  await examineHere(request, (message) => messages.push(message))
  return summarise(request.kind, messages, null)
}

/** `end` = how the process failed; devices without a result were not reached or caused it. */
export function summarise(
  kind: GpuKind,
  messages: readonly Message[],
  end: string | null,
): Examination {
  const missing = messages.find((message) => message.step === 'missing')
  const found = messages.find((message) => message.step === 'found')?.gpus ?? []
  const gpus = found.map((gpu) => {
    const result = messages.find((m) => m.step === 'tested' && m.name === gpu.name)
    const trouble = result?.step === 'tested' ? result.trouble : (end ?? 'it was not tested')
    return { ...gpu, trouble }
  })
  if (gpus.length > 0) return { gpus, reason: null }
  const none = `no ${kind} device with its driver was found`
  return { gpus, reason: missing?.reason ?? end ?? none }
}

/** Drivers print to the same stream. */
const mark = 'hone-device '

async function main(kind: string, threads: string): Promise<void> {
  await examineHere({ kind: kind as GpuKind, threads: Number(threads) }, (message) => {
    process.stdout.write(`${mark}${JSON.stringify(message)}\n`)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv[2] ?? '', process.argv[3] ?? '1')
}
