// Sampling one reply. Log-probabilities are those of the full softmax at the sampling temperature;
// node-llama-cpp reports the probability after truncation, so they are given only where nothing truncates.

import { AppError } from '../../shared/errors.ts'
import type { Slot } from './contexts.ts'
import { decodeStep, prefill, type DecodeSettings } from './prefill.ts'
import type { GenerateRequest, Generation, SampledToken } from './types.ts'
import type { Vocabulary } from './vocabulary.ts'

/** The smallest positive 32-bit float: a probability of 0 in a sampled token is one below it. */
export const smallestProbability = 2 ** -149

export interface Sampled {
  readonly tokens: SampledToken[]
  finish: Generation['finish']
  firstTokenAt: number | null
}

export function checkGenerate(request: GenerateRequest, contextSize: number): void {
  const { promptIds, maxTokens, temperature, topP, topK, minP, seed } = request
  if (promptIds.length === 0) throw new AppError('invalid-input', 'the prompt is empty')
  if (!Number.isInteger(maxTokens) || maxTokens <= 0)
    throw new AppError(
      'invalid-input',
      `the reply must be allowed at least 1 token, not ${maxTokens}`,
    )
  if (promptIds.length + maxTokens > contextSize) throw promptTooLong(request, contextSize)
  const settings = { temperature, topP, topK, minP, seed }
  const wrong = Object.entries(settings).find(([, value]) => !Number.isFinite(value) || value < 0)
  if (wrong !== undefined) throw new AppError('invalid-input', `${wrong[0]} cannot be ${wrong[1]}`)
}

function promptTooLong(request: GenerateRequest, contextSize: number): AppError {
  const tokens = request.promptIds.length
  return new AppError(
    'too-large',
    `a prompt of ${tokens} tokens and a reply of up to ${request.maxTokens} need more than the context of ${contextSize}`,
    { data: { tokens, maxTokens: request.maxTokens, contextSize } },
  )
}

/** Fills `sampled` as it goes, so that a stop keeps what was there. */
export async function sampleReply(
  slot: Slot,
  request: GenerateRequest,
  context: {
    readonly vocabulary: Vocabulary
    readonly settings: DecodeSettings
    readonly sampled: Sampled
  },
): Promise<void> {
  const { vocabulary, settings, sampled } = context
  const rest = await prefill(slot, request.promptIds, settings)
  const exact = givesFullSoftmax(request, vocabulary.size)
  const text = vocabulary.textStream()
  const iterator = slot.sequence.evaluateWithMetadata(
    rest,
    { confidence: exact },
    { ...samplingOptions(request), yieldEogToken: true },
  )
  try {
    while (sampled.tokens.length < request.maxTokens) {
      const step = await decodeStep(slot, settings, () => iterator.next())
      if (step.done === true) throw new AppError('internal', 'the model gave no token')
      sampled.firstTokenAt ??= performance.now()
      const id = step.value.token
      const end = vocabulary.isEnd(id)
      const logProb = exact ? logProbOf(step.value) : null
      const token = { id, logProb, text: end ? '' : text.push(id) }
      sampled.tokens.push(token)
      if (end) sampled.finish = 'stop'
      request.onToken?.(token)
      if (end) return
    }
    sampled.finish = 'length'
  } finally {
    await iterator.return()
  }
}

function logProbOf(output: object): number {
  if (!('confidence' in output) || typeof output.confidence !== 'number')
    throw new AppError('internal', 'the model gave no probability')
  return Math.log(Math.max(output.confidence, smallestProbability))
}

export function givesFullSoftmax(
  { temperature, topK, topP, minP }: GenerateRequest,
  vocabularySize: number,
): boolean {
  return temperature > 0 && (topK === 0 || topK >= vocabularySize) && topP >= 1 && minP === 0
}

/** All of them, always: node-llama-cpp's own defaults truncate, and its seed is the clock. */
function samplingOptions({ temperature, topK, topP, minP, seed }: GenerateRequest): {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: number
} {
  // llama.cpp takes the highest 32-bit seed as "choose one yourself".
  const usableSeed = Math.min(seed >>> 0, 0xfffffffe)
  return { temperature, topK, topP: Math.min(topP, 1), minP, seed: usableSeed }
}

/** What the caller gets, also of a reply that was stopped before its first token. */
export function finished(
  request: GenerateRequest,
  { tokens, finish, firstTokenAt }: Sampled,
  { startedAt, version }: { readonly startedAt: number; readonly version: number },
): Generation {
  const endedAt = performance.now()
  const logProbs = tokens.flatMap(({ logProb }) => (logProb === null ? [] : [logProb]))
  const decodingMs = endedAt - (firstTokenAt ?? endedAt)
  return {
    ids: tokens.map(({ id }) => id),
    logProbs: tokens.length > 0 && logProbs.length === tokens.length ? logProbs : null,
    text: tokens.map(({ text }) => text).join(''),
    finish,
    version,
    promptTokens: request.promptIds.length,
    timeToFirstTokenMs: (firstTokenAt ?? endedAt) - startedAt,
    tokensPerSecond: decodingMs > 0 ? ((tokens.length - 1) * 1000) / decodingMs : 0,
  }
}
