// The one llama.cpp instance and its model: loading, the device in plain words, failures as sentences.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  getLlama,
  getLlamaGpuTypes,
  InsufficientMemoryError,
  LlamaLogLevel,
  NoBinaryFoundError,
  type Llama,
  type LlamaModel,
} from 'node-llama-cpp'
import { AppError } from '../../shared/errors.ts'
import { checkGguf, type GgufSummary } from './gguf-check.ts'
import type { PolicyInfo, PolicyOptions } from './types.ts'
import { createVocabulary, type Vocabulary } from './vocabulary.ts'

export interface Native {
  readonly llama: Llama
  readonly model: LlamaModel
  readonly vocabulary: Vocabulary
  readonly summary: GgufSummary
  /** All that can be said without the chat template. */
  readonly info: Omit<PolicyInfo, 'replyEndId'>
}

/** Enough for the lines that lead to one failure. */
const keptLines = 20
/** More than this is seldom used in a chat and costs memory from the start. */
const usualContextSize = 4096

export async function openNative(options: PolicyOptions): Promise<Native> {
  if (!Number.isInteger(options.threads) || options.threads < 1)
    throw new AppError('invalid-input', `at least 1 thread is needed, not ${options.threads}`)
  const summary = await checkGguf(options.modelPath)
  if (summary.kind !== 'model')
    throw new AppError('invalid-input', `${options.modelPath} is a ${summary.kind}, not a model`)
  const lines: string[] = []
  const llama = await startLlama(options, lines)
  try {
    const model = await loadModel(llama, options.modelPath, { summary, lines })
    const vocabulary = createVocabulary(model)
    const info = await describe({ llama, model, vocabulary, summary }, options)
    return { llama, model, vocabulary, summary, info }
  } catch (error) {
    await llama.dispose()
    throw error
  }
}

async function startLlama(options: PolicyOptions, lines: string[]): Promise<Llama> {
  try {
    return await getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: options.threads,
      gpu: options.device === 'cpu' ? false : 'auto',
      logLevel: LlamaLogLevel.warn,
      logger(_level, message) {
        lines.push(message.trim())
        if (lines.length > keptLines) lines.shift()
      },
    })
  } catch (cause) {
    const reason =
      cause instanceof NoBinaryFoundError
        ? `there is no llama.cpp program for ${process.platform} ${process.arch} in this installation`
        : cause instanceof Error
          ? cause.message
          : String(cause)
    throw new AppError('unavailable', `the model engine cannot start: ${reason}`, { cause })
  }
}

async function loadModel(
  llama: Llama,
  path: string,
  { summary, lines }: { readonly summary: GgufSummary; readonly lines: readonly string[] },
): Promise<LlamaModel> {
  const name = basename(path)
  if (!knows(llama, summary.architecture)) throw newerEngine(name, summary.architecture)
  try {
    return await llama.loadModel({ modelPath: path })
  } catch (cause) {
    // llama.cpp's lines come from another thread, a little after the failure.
    await setTimeout(50)
    const log = lines.join('\n')
    const message = cause instanceof Error ? cause.message : String(cause)
    if (cause instanceof InsufficientMemoryError)
      throw new AppError('out-of-memory', `there is not enough memory for ${name}: ${message}`, {
        cause,
      })
    if (/unknown model architecture/i.test(`${log}\n${message}`))
      throw newerEngine(name, summary.architecture)
    const lastLine = lines.findLast((line) => /error|fail|missing/i.test(line))
    throw new AppError('corrupt', `${name} cannot be loaded: ${lastLine ?? message}`, { cause })
  }
}

/** True where node-llama-cpp does not show its list of architectures: then loading decides. */
function knows(llama: Llama, architecture: string): boolean {
  const bindings = (llama as unknown as { readonly _bindings?: unknown })._bindings
  if (typeof bindings !== 'object' || bindings === null) return true
  if (!('getIsArchSupported' in bindings)) return true
  const { getIsArchSupported } = bindings
  return typeof getIsArchSupported !== 'function' || getIsArchSupported(architecture) !== false
}

function newerEngine(name: string, architecture: string): AppError {
  return new AppError(
    'unsupported',
    `${name} needs a newer engine: this one does not know the architecture "${architecture}"`,
  )
}

async function describe(
  { llama, model, vocabulary, summary }: Omit<Native, 'info'>,
  options: PolicyOptions,
): Promise<Native['info']> {
  const own = model.trainContextSize
  const wanted = options.contextSize ?? Math.min(own, usualContextSize)
  if (!Number.isInteger(wanted) || wanted < 2 || wanted > own)
    throw new AppError('invalid-input', `the context can be 2 to ${own} tokens, not ${wanted}`)
  const name: unknown = model.fileInfo.metadata.general.name
  return {
    modelId: await fingerprint(options.modelPath, summary.sizeBytes),
    name: typeof name === 'string' && name !== '' ? name : basename(options.modelPath, '.gguf'),
    path: options.modelPath,
    architecture: model.architecture,
    contextSize: wanted,
    sizeBytes: summary.sizeBytes,
    vocabulary: vocabulary.size,
    endIds: vocabulary.endIds,
    device: llama.gpu !== false && model.gpuLayers > 0 ? llama.gpu : 'cpu',
    deviceSentence: await deviceSentence(llama, model, options.device),
  }
}

const gpuNames = { cuda: 'CUDA', vulkan: 'Vulkan', metal: 'Metal' } as const

async function deviceSentence(
  llama: Llama,
  model: LlamaModel,
  asked: PolicyOptions['device'],
): Promise<string> {
  if (asked === 'cpu') return 'Runs on the processor, as set.'
  if (llama.gpu !== false) {
    const device = (await llama.getGpuDeviceNames()).join(', ')
    return model.gpuLayers > 0
      ? `Runs on ${device} through ${gpuNames[llama.gpu]}.`
      : `Runs on the processor: ${device} has too little free memory for this model.`
  }
  const usable = (await getLlamaGpuTypes('supported')).flatMap((type) =>
    type === false ? [] : gpuNames[type],
  )
  return usable.length === 0
    ? 'Runs on the processor: no graphics device with CUDA, Vulkan or Metal was found.'
    : `Runs on the processor: ${usable.join(' and ')} is installed but did not start.`
}

/** The same for the same file under any name: its size with its first and last 256 KiB. */
async function fingerprint(path: string, sizeBytes: number): Promise<string> {
  const length = Math.min(sizeBytes, 256 << 10)
  const hash = createHash('sha256').update(String(sizeBytes))
  const file = await open(path, 'r')
  try {
    for (const position of [0, sizeBytes - length])
      hash.update((await file.read(Buffer.alloc(length), 0, length, position)).buffer)
  } finally {
    await file.close()
  }
  return hash.digest('hex').slice(0, 16)
}
