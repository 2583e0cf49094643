// The engine guard: re-scores a sample with the adapter version that sampled it, on the prompt that it saw, and compares
// with the server's log-probabilities. A large signed gap means that serving and training do not run the same numbers.
import type { Adapter, EngineModel, Score, YieldPoint } from '../engine/index.ts'
import type { BatchItem, Exclusion } from './batch.ts'
import { isComparable } from './batch.ts'
import { at } from './losses/surrogate.ts'

/** Signed mean, nats. On 4-bit weights a server's decode and prefill differ by ±0.02 in the mean. */
const largestGap = 0.1

/** The same server differs by about 0.1 nat a token (standard deviation); three of them bound a very short reply. */
const tokenNoise = 0.3

export interface GuardResult {
  readonly accepted: readonly BatchItem[]
  readonly refused: readonly Exclusion[]
  /** Items whose server numbers agree with ours and may set the importance. */
  readonly trusted: ReadonlySet<BatchItem>
  /** Signed mean of served minus re-scored over all compared tokens; null when none could be compared. */
  readonly gap: number | null
  /** Tokens that were run through the model for it. */
  readonly tokens: number
}

export interface GuardOptions {
  readonly model: EngineModel
  readonly items: readonly BatchItem[]
  /** The adapter of a version; null = the base, 'missing' = its file is gone. */
  readonly adapterOfVersion: (version: number) => Promise<Adapter | null | 'missing'>
  /** A score that was already made with the sample's own version and prompt. */
  readonly known: (item: BatchItem) => Score | undefined
  readonly yieldPoint: YieldPoint
}

export async function guardSamples(options: GuardOptions): Promise<GuardResult> {
  const refused: Exclusion[] = []
  const trusted = new Set<BatchItem>()
  let difference = 0
  let compared = 0
  let tokens = 0
  for (const item of options.items.filter(isComparable)) {
    const known = options.known(item)
    const score = known ?? (await rescore(item, options))
    // A pruned version can no longer vouch for its numbers: importance 1, as without them.
    if (score === 'missing') continue
    const served = item.sample.samplerLogProbs ?? []
    const gaps = served.map((value, t) => value - at(score.sampled, t))
    const sum = gaps.reduce((total, gap) => total + gap, 0)
    difference += sum
    compared += gaps.length
    if (known === undefined) tokens += seenPrompt(item).length + gaps.length
    const reason = gapRefusal(sum / gaps.length, gaps.length)
    if (reason === null) trusted.add(item)
    else refused.push({ sampleId: item.sample.id, reason })
  }
  const refusedIds = new Set(refused.map((exclusion) => exclusion.sampleId))
  const accepted = options.items.filter((item) => !refusedIds.has(item.sample.id))
  return { accepted, refused, trusted, gap: compared === 0 ? null : difference / compared, tokens }
}

/** The sentence that refuses a sample, or null. A gap that is not a number refuses too. */
function gapRefusal(gap: number, tokens: number): string | null {
  const limit = Math.max(largestGap, tokenNoise / Math.sqrt(tokens))
  if (Math.abs(gap) <= limit) return null
  return `served and re-scored log-probabilities differ by ${gap.toFixed(3)} nat in the mean (limit ${limit.toFixed(2)})`
}

async function rescore(item: BatchItem, options: GuardOptions): Promise<Score | 'missing'> {
  const adapter = await options.adapterOfVersion(item.sample.version)
  if (adapter === 'missing') return 'missing'
  const prompt = seenPrompt(item)
  return options.model.score({
    tokens: Int32Array.from([...prompt, ...item.sample.responseIds]),
    responseStart: prompt.length,
    temperature: item.sample.temperature,
    adapter,
    yieldPoint: options.yieldPoint,
  })
}

function seenPrompt({ sample }: BatchItem): readonly number[] {
  return sample.sampledPromptIds ?? sample.promptIds
}
