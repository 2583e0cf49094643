// Full-vocabulary log-probabilities after a prompt, at T = 1 without truncation.

import type { Token } from 'node-llama-cpp'
import { AppError } from '../../shared/errors.ts'
import type { Slot } from './contexts.ts'
import { smallestProbability } from './generate.ts'
import { decodeStep, prefill, type DecodeSettings } from './prefill.ts'

/** Each scored token brings a whole vocabulary over from native code, about 5 MB. */
const scoredTokens = 8

const fullSoftmax = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 1 } as const

export function checkScored(
  promptIds: readonly number[],
  continuations: readonly (readonly number[])[],
  contextSize: number,
): void {
  if (promptIds.length === 0) throw new AppError('invalid-input', 'the prompt is empty')
  if (continuations.some(({ length }) => length === 0))
    throw new AppError('invalid-input', 'a continuation to score is empty')
  const longest = continuations.reduce((most, { length }) => Math.max(most, length), 1)
  // One place is kept free: the last id of a continuation is never evaluated, the last of a prompt is.
  const tokens = promptIds.length + longest
  if (tokens > contextSize)
    throw new AppError(
      'too-large',
      `${tokens} tokens to score are more than the context of ${contextSize}`,
      { data: { tokens, contextSize } },
    )
}

/** Natural logs by token id. [V] */
export async function scoreNext(
  slot: Slot,
  promptIds: readonly number[],
  context: { readonly size: number; readonly settings: DecodeSettings },
): Promise<Float32Array> {
  const rest = await prefill(slot, promptIds, context.settings)
  const [scores] = await evaluateScored(slot, rest, { ...context, from: rest.length - 1 })
  if (scores === undefined) throw new AppError('internal', 'the model gave no scores')
  return scores
}

/** The sum over each continuation's ids, in order. */
export async function scoreEach(
  slot: Slot,
  request: {
    readonly promptIds: readonly number[]
    readonly continuations: readonly (readonly number[])[]
  },
  context: { readonly size: number; readonly settings: DecodeSettings },
): Promise<number[]> {
  const { promptIds, continuations } = request
  const first = await scoreNext(slot, promptIds, context)
  const sums: number[] = []
  for (const continuation of continuations) {
    const [head = -1, ...tail] = continuation
    let sum = at(first, head)
    if (tail.length > 0) {
      await stepBack(slot, promptIds.length, context.settings)
      const inputs = continuation.slice(0, -1) as Token[]
      const rows = await evaluateScored(slot, inputs, { ...context, from: 0 })
      tail.forEach((id, i) => (sum += at(rows[i], id)))
    }
    sums.push(sum)
  }
  return sums
}

function at(row: Float32Array | undefined, id: number): number {
  const value = row?.[id]
  if (value === undefined) throw new AppError('invalid-input', `the vocabulary has no token ${id}`)
  return value
}

async function stepBack(slot: Slot, length: number, settings: DecodeSettings): Promise<void> {
  const { sequence } = slot
  if (sequence.nextTokenIndex === length) return
  await decodeStep(slot, settings, () =>
    sequence.eraseContextTokenRanges([{ start: length, end: sequence.nextTokenIndex }]),
  )
}

/** Evaluates ids and returns one row of logs for each from index `from` on. */
async function evaluateScored(
  slot: Slot,
  ids: readonly Token[],
  context: { readonly size: number; readonly settings: DecodeSettings; readonly from: number },
): Promise<Float32Array[]> {
  const rows: Float32Array[] = []
  for (let start = 0; start < ids.length; start += scoredTokens) {
    const chunk = ids.slice(start, start + scoredTokens)
    const outputs = await decodeStep(slot, context.settings, () =>
      slot.sequence.controlledEvaluate(
        chunk.map((id, i) =>
          start + i < context.from
            ? id
            : [id, { generateNext: { probabilities: true, options: fullSoftmax } }],
        ),
      ),
    )
    for (const output of outputs) {
      const probabilities = output?.next.probabilities
      if (probabilities !== undefined) rows.push(logsById(probabilities, context.size))
    }
  }
  return rows
}

function logsById(probabilities: ReadonlyMap<Token, number>, size: number): Float32Array {
  // llama.cpp adds 32-bit numbers up, so its sum is off by about 1e-4; here it is made 1 again.
  let sum = 0
  for (const probability of probabilities.values()) sum += probability
  const shift = Math.log(sum)
  const logs = new Float32Array(size).fill(Math.log(smallestProbability) - shift)
  for (const [id, probability] of probabilities)
    logs[id] = Math.log(Math.max(probability, smallestProbability)) - shift
  return logs
}
