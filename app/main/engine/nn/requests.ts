// Checks of what callers ask, before any graph exists: what ggml would answer with an abort is refused here.
import { AppError } from '../../../shared/errors.ts'
import type { ModelInfo, SequenceRequest } from '../types.ts'

/** Longest sequence the engine takes; the model's own context may be shorter. */
const maxTokens = 8192

export function checkSequence(info: ModelInfo, request: SequenceRequest): void {
  const { tokens, responseStart, temperature } = request
  const limit = Math.min(maxTokens, info.contextLength)
  if (tokens.length < 2) refuse(`a sequence needs two tokens, got ${tokens.length}`)
  if (tokens.length > limit) {
    throw new AppError(
      'too-large',
      `the sequence has ${tokens.length} tokens, at most ${limit} fit`,
      {
        data: { tokens: tokens.length, limit },
      },
    )
  }
  const startsInside = responseStart >= 1 && responseStart < tokens.length
  if (!Number.isInteger(responseStart) || !startsInside) {
    refuse(`responseStart must be from 1 to ${tokens.length - 1}, got ${responseStart}`)
  }
  if (!Number.isFinite(temperature) || temperature <= 0) {
    refuse(`the temperature must be positive, got ${temperature}`)
  }
  checkIds(info, tokens, 'tokens')
}

/** Returns M, the ids per response position. */
export function checkGatherIds(info: ModelInfo, ids: Int32Array, R: number): number {
  if (ids.length % R !== 0) refuse(`${ids.length} ids do not fill ${R} positions evenly`)
  checkIds(info, ids, 'gatherIds')
  return ids.length / R
}

export function checkMemoryRequest(request: {
  readonly tokens: number
  readonly responseTokens: number
  readonly rank: number
}): void {
  const { tokens, responseTokens, rank } = request
  const whole = [tokens, responseTokens, rank].every(
    (count) => Number.isInteger(count) && count > 0,
  )
  if (!whole || responseTokens >= tokens) {
    refuse(`no plan for ${responseTokens} of ${tokens} tokens at rank ${rank}`)
  }
}

export function checkTopK(info: ModelInfo, topK: number): void {
  if (Number.isInteger(topK) && topK >= 0 && topK <= Math.min(info.vocabulary, 1024)) return
  refuse(`topK must be from 0 to ${Math.min(info.vocabulary, 1024)}, got ${topK}`)
}

export function checkLength(what: string, found: number, expected: number): void {
  if (found !== expected) refuse(`expected ${expected} numbers in ${what}, found ${found}`)
}

function checkIds(info: ModelInfo, ids: Int32Array, what: string): void {
  const bad = ids.findIndex((id) => id < 0 || id >= info.vocabulary)
  if (bad === -1) return
  refuse(`${what}[${bad}] is ${ids[bad]}, the vocabulary has ${info.vocabulary} entries`)
}

function refuse(message: string): never {
  throw new AppError('invalid-input', message)
}
