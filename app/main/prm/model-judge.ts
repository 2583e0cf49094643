// Asks the model through the port, in one of two ways (DESIGN 5.3). Each question becomes exactly one vote; whatever
// goes wrong makes it an invalid vote that keeps what was said.
import type { JudgeOptions, NextState } from '../../shared/contract/prm.ts'
import type { NewVote, RewardValue } from '../../shared/domain/turn.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import { parseBoxed, parseHint } from './parse.ts'
import { withTimeout, type JudgePort } from './port.ts'
import { contentFreePrompt, generatePrompt, scorePrompt, type ScorePrompt } from './prompts.ts'

export type ModelJudgeMode = Exclude<JudgeOptions['mode'], 'off'>

/** What each score prompt gives its labels about nothing; one per judge model, made when first needed. */
export type Calibration = Map<string, readonly number[]>

export interface ModelJudge {
  readonly mode: ModelJudgeMode
  /** Default: the request is shown. */
  readonly hidesRequest?: boolean
  readonly port: JudgePort
  readonly calibration: Calibration
  readonly timeoutMs: number
}

const generateTemperature = 0.6
const generateMaxTokens = 1_024
/** Any fixed number: seeds differ from vote to vote and are the same on every run. */
const firstSeed = 20_011

/** Votes one after another: the host has one model, and a time-out should measure one answer. */
export async function modelVotes(
  state: NextState,
  count: number,
  judge: ModelJudge,
): Promise<NewVote[]> {
  const votes: NewVote[] = []
  for (let index = 0; index < count; index += 1) {
    votes.push(
      judge.mode === 'score'
        ? await scoreVote(state, index, judge)
        : await generateVote(state, index, judge),
    )
  }
  return votes
}

async function scoreVote(state: NextState, index: number, judge: ModelJudge): Promise<NewVote> {
  const prompt = scorePrompt(index, state, judge)
  return asVote(prompt.id, async () => {
    const neutral = await calibrated(index, judge)
    const scores = await labelScores(prompt, judge)
    const lifts = scores.map((score, label) => score - (neutral[label] ?? Number.NaN))
    const raw = prompt.labels
      .map((label, place) => `${label.trim()} ${(lifts[place] ?? Number.NaN).toFixed(3)}`)
      .join(', ')
    return { value: highestLabel(lifts), raw }
  })
}

const labelValues: readonly RewardValue[] = [1, -1, 0]

/** null for an exact tie: the scorer said nothing. */
function highestLabel(lifts: readonly number[]): RewardValue | null {
  const top = Math.max(...lifts)
  const winners = labelValues.filter((_, place) => lifts[place] === top)
  return winners.length === 1 ? (winners[0] ?? null) : null
}

async function calibrated(index: number, judge: ModelJudge): Promise<readonly number[]> {
  const prompt = contentFreePrompt(index, judge)
  const known = judge.calibration.get(prompt.id)
  if (known !== undefined) return known
  const scores = await labelScores(prompt, judge)
  judge.calibration.set(prompt.id, scores)
  return scores
}

async function labelScores(
  { system, user, prefix, labels }: ScorePrompt,
  { port, timeoutMs }: ModelJudge,
): Promise<number[]> {
  const request = { system, user, prefix, labels: [...labels] }
  const { logProbs } = await withTimeout((options) => port.score(request, options), timeoutMs)
  if (logProbs.length !== labels.length || !logProbs.every((value) => Number.isFinite(value))) {
    throw new AppError(
      'unavailable',
      `expected ${labels.length} finite log-probabilities, got [${logProbs.slice(0, 6).join(', ')}]`,
    )
  }
  return logProbs
}

async function generateVote(state: NextState, index: number, judge: ModelJudge): Promise<NewVote> {
  const prompt = generatePrompt('judge', state, judge)
  return asVote(`${prompt.id}-${index + 1}`, async () => {
    const raw = await generated('judge', state, { judge, seed: firstSeed + index })
    return { value: parseBoxed(raw), raw }
  })
}

async function generated(
  kind: 'judge' | 'hint',
  state: NextState,
  { judge, seed }: { judge: ModelJudge; seed: number },
): Promise<string> {
  const { system, user } = generatePrompt(kind, state, judge)
  const request = {
    system,
    user,
    temperature: generateTemperature,
    seed,
    maxTokens: generateMaxTokens,
  }
  const { text } = await withTimeout(
    (options) => judge.port.generate(request, options),
    judge.timeoutMs,
  )
  return text
}

async function asVote(
  name: string,
  ask: () => Promise<{ value: RewardValue | null; raw: string }>,
): Promise<NewVote> {
  const started = performance.now()
  const vote = (value: RewardValue | null, raw: string): NewVote => ({
    source: 'judge',
    name,
    value,
    weight: 1,
    raw,
    durationMs: performance.now() - started,
  })
  try {
    const { value, raw } = await ask()
    return vote(value, raw)
  } catch (error) {
    const { code, message } = toAppError(error)
    return vote(null, `${code}: ${message}`)
  }
}

export type Hindsight =
  | { readonly kind: 'hint'; readonly text: string }
  | { readonly kind: 'none' }
  /** The invalid vote says what went wrong. */
  | { readonly kind: 'failed'; readonly vote: NewVote }

/** Asks for a hint in hindsight. */
export async function judgedHint(state: NextState, judge: ModelJudge): Promise<Hindsight> {
  let hint: string | null = null
  const vote = await asVote('generate-hint', async () => {
    const raw = await generated('hint', state, { judge, seed: firstSeed })
    hint = parseHint(raw)
    return { value: 0, raw }
  })
  if (vote.value === null) return { kind: 'failed', vote }
  return hint === null ? { kind: 'none' } : { kind: 'hint', text: hint }
}
