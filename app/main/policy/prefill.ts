// Brings a slot's cache to a prompt, in chunks, so that other lanes and a stop get in between.

import type { Token } from 'node-llama-cpp'
import { chunkTokens, type Slot } from './contexts.ts'
import { cancelled, type TurnQueue } from './lanes.ts'
import type { Lane } from './types.ts'

export interface DecodeSettings {
  readonly lane: Lane
  readonly steps: TurnQueue
  readonly signal?: AbortSignal | undefined
}

/** One native decode, alone in the whole policy; a failure marks the slot as unusable. */
export async function decodeStep<T>(
  slot: Slot,
  { lane, steps, signal }: DecodeSettings,
  step: () => Promise<T>,
): Promise<T> {
  return steps.run(
    lane,
    async () => {
      if (signal?.aborted === true) throw cancelled()
      try {
        return await step()
      } catch (error) {
        slot.broken = true
        throw error
      }
    },
    signal,
  )
}

/**
 * Evaluates all but the last piece of `ids` and returns that piece (1 to 64 ids), which the caller evaluates with
 * sampling. Chats reuse all that matches; the other lanes reuse only whole prompt chunks, because a token
 * decoded alone differs in the last bits from one computed in a chunk, and their results must not
 * depend on what ran before.
 */
export async function prefill(
  slot: Slot,
  ids: readonly number[],
  settings: DecodeSettings,
): Promise<Token[]> {
  const { sequence } = slot
  const tokens = ids as readonly Token[]
  let at = reusable(slot, tokens, settings.lane)
  if (at < sequence.nextTokenIndex) {
    const start = at
    await decodeStep(slot, settings, () =>
      sequence.eraseContextTokenRanges([{ start, end: sequence.nextTokenIndex }]),
    )
  }
  slot.alignedTokens = Math.min(slot.alignedTokens, at)
  for (;;) {
    const end = at + chunkTokens - (at % chunkTokens)
    if (end >= tokens.length) return tokens.slice(at)
    const chunk = tokens.slice(at, end)
    await decodeStep(slot, settings, () => sequence.evaluateWithoutGeneratingNewTokens(chunk))
    if (slot.alignedTokens === at && chunk.length === chunkTokens) slot.alignedTokens = end
    at = end
  }
}

function reusable(slot: Slot, tokens: readonly Token[], lane: Lane): number {
  const { sequence } = slot
  const cached = sequence.contextTokens
  // The last id is always evaluated again: sampling needs its scores.
  const limit = Math.min(cached.length, tokens.length - 1)
  let common = 0
  while (common < limit && cached[common] === tokens[common]) common++
  // Recurrent models cannot step back; erasing would evaluate everything again in one piece.
  if (sequence.needsCheckpoints && common < cached.length) return 0
  if (lane === 'serve') return common
  const aligned = Math.min(common, slot.alignedTokens)
  return aligned - (aligned % chunkTokens)
}
