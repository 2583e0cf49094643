// Which samples take part in a run, which parts of the loss each has, and what of its prompt fits. Pure: token ids
// in, token ids out. What stays out carries a reason; a reply is never cut.
import type { RunReport, Sample, TrainingConfig } from '../../shared/domain/training.ts'
import type { MethodTerms } from './methods.ts'
import { methodTerms } from './methods.ts'

const largestBatch = 16

/** Below this the logits / T are nearly one-hot: the sample trains at 0.6 with importance 1. */
const coldTemperature = 0.3
const replacementTemperature = 0.6

/** Fewer prompt tokens than this say nothing about the request. */
const smallestPrompt = 16

/** Tokens per phrase of a greedy LZ77 parse: prose stays under 2, a reply in a loop is far above. */
const repetitiveRatio = 3

export interface BatchHint {
  readonly hintId: string
  readonly text: string
  readonly promptIds: readonly number[]
}

export interface BatchItem extends MethodTerms {
  readonly sample: Sample
  /** The bare prompt, within the sequence limit. */
  readonly promptIds: readonly number[]
  /** Shortest first. */
  readonly hints: readonly BatchHint[]
  /** What the logits are divided by: 1 for demonstrations. */
  readonly temperature: number
  /** A prompt of it does not fit whole: the server's numbers cannot be compared with ours. */
  readonly shortened: boolean
}

export type Exclusion = RunReport['excluded'][number]

export interface Batch {
  /** Oldest first. */
  readonly items: readonly BatchItem[]
  readonly excluded: readonly Exclusion[]
}

export interface BatchOptions {
  readonly samples: readonly Sample[]
  readonly config: TrainingConfig
  readonly vocabulary: number
  /** Longest sequence in tokens: the configured limit, or less where the model's context is shorter. */
  readonly limit: number
}

export function selectBatch(options: BatchOptions): Batch {
  const excluded: Exclusion[] = []
  const items: BatchItem[] = []
  for (const sample of [...options.samples].sort(byAge)) {
    const reason = refusal(sample, options)
    if (reason === null) items.push(batchItem(sample, options))
    else excluded.push({ sampleId: sample.id, reason })
  }
  const kept = newest(items)
  const reason = `more than ${largestBatch} samples were waiting`
  for (const item of items) {
    if (!kept.has(item)) excluded.push({ sampleId: item.sample.id, reason })
  }
  return { items: items.filter((item) => kept.has(item)), excluded }
}

/** The newest demonstrations take half of a full batch, or more where turns leave room. */
function newest(items: readonly BatchItem[]): Set<BatchItem> {
  const demonstrations = items.filter((item) => item.demo).reverse()
  const turns = items.filter((item) => !item.demo).reverse()
  const room = Math.max(largestBatch / 2, largestBatch - turns.length)
  const chosen = demonstrations.slice(0, room)
  return new Set([...chosen, ...turns.slice(0, largestBatch - chosen.length)])
}

function refusal(sample: Sample, options: BatchOptions): string | null {
  const { config, vocabulary, limit } = options
  if (sample.responseIds.length === 0) return 'the reply is empty'
  if (sample.promptIds.length === 0) return 'the prompt is empty'
  const terms = termsOf(sample, config)
  if (!terms.rl && !terms.opd && !terms.demo) return `no signal that method ${config.method} uses`
  const served = sample.samplerLogProbs
  if (served !== null && served.length !== sample.responseIds.length) {
    return `${served.length} log-probabilities for ${sample.responseIds.length} reply tokens`
  }
  const sequences = [sample.promptIds, sample.responseIds, ...sample.hints.map((h) => h.promptIds)]
  const foreign = sequences.flat().find((id) => id < 0 || id >= vocabulary)
  if (foreign !== undefined) return `token ${foreign} is outside the vocabulary of ${vocabulary}`
  if (limit - sample.responseIds.length < smallestPrompt) {
    return `a reply of ${sample.responseIds.length} tokens leaves no room for a prompt within ${limit}`
  }
  const ratio = compressionRatio(sample.responseIds)
  if (ratio > repetitiveRatio) return `the reply repeats itself (compression ${ratio.toFixed(1)})`
  return null
}

function batchItem(sample: Sample, options: BatchOptions): BatchItem {
  const room = options.limit - sample.responseIds.length
  const terms = termsOf(sample, options.config)
  const cold = sample.temperature < coldTemperature
  const hints = [...sample.hints]
    .sort((first, second) => first.text.length - second.text.length)
    .slice(0, 3)
    .map((hint) => ({ ...hint, promptIds: shortenPrompt(hint.promptIds, room) }))
  return {
    sample,
    ...terms,
    promptIds: shortenPrompt(sample.promptIds, room),
    hints: terms.opd ? hints : [],
    temperature: terms.demo ? 1 : cold ? replacementTemperature : sample.temperature,
    shortened: Math.max(sample.promptIds.length, sample.sampledPromptIds?.length ?? 0) > room,
  }
}

function termsOf(sample: Sample, config: TrainingConfig): MethodTerms {
  const method = methodTerms(config)
  if (sample.kind === 'demonstration') return { rl: false, opd: false, demo: method.demo }
  return {
    // Under a scaffold the reply saw another prompt: the two probabilities are not a ratio, so no reward term.
    rl: method.rl && sample.reward !== null && sawBarePrompt(sample),
    opd: method.opd && sample.hints.length > 0,
    demo: false,
  }
}

/** Whether the reply was sampled from the very prompt that trains. */
export function sawBarePrompt({ sampledPromptIds, promptIds }: Sample): boolean {
  if (sampledPromptIds === null) return true
  return sampledPromptIds.join() === promptIds.join()
}

/** True where the server's log-probabilities can be compared with ours and used for importance. */
export function isComparable(item: BatchItem): boolean {
  const { sample } = item
  // Dividing logits by a small T multiplies the server's own noise by 1/T, and such a sample has importance 1 anyway.
  const warm = sample.temperature >= coldTemperature
  return sample.kind === 'turn' && sample.samplerLogProbs !== null && warm && !item.shortened
}

/**
 * Keeps the head (system message and first request stand there) and the tail (the newest turns) of a prompt that is
 * longer than `room`; one third and two thirds, since the reply answers the tail.
 */
export function shortenPrompt(promptIds: readonly number[], room: number): readonly number[] {
  if (promptIds.length <= room) return promptIds
  const head = Math.floor(room / 3)
  return [...promptIds.slice(0, head), ...promptIds.slice(promptIds.length - (room - head))]
}

/**
 * Tokens per phrase when each phrase is the longest run seen before, or one new token. 1 = nothing comes twice; short
 * replies cannot reach the limit. Counting tokens instead of bytes needs no text and no table of a compressor.
 */
export function compressionRatio(ids: readonly number[]): number {
  let phrases = 0
  for (let start = 0; start < ids.length; phrases++) start += Math.max(longestMatch(ids, start), 1)
  return phrases === 0 ? 1 : ids.length / phrases
}

function longestMatch(ids: readonly number[], start: number): number {
  let longest = 0
  for (let earlier = 0; earlier < start; earlier++) {
    let length = 0
    while (start + length < ids.length && ids[earlier + length] === ids[start + length]) length++
    longest = Math.max(longest, length)
  }
  return longest
}

function byAge(first: Sample, second: Sample): number {
  return first.createdAt - second.createdAt || (first.id < second.id ? -1 : 1)
}
