// Before use a judge must tell bundled examples apart (DESIGN 5.3): macro-F1 over +1, −1 and 0, no rules involved.
import type { NextState, SelfTest } from '../../shared/contract/prm.ts'
import { nextStateSchema } from '../../shared/contract/prm.ts'
import type { RewardValue } from '../../shared/domain/turn.ts'
import selfTestCases from '../../../resources/judge/self-test.json' with { type: 'json' }
import { modelVotes, type Calibration, type ModelJudgeMode } from './model-judge.ts'
import { judgeTimeoutMs, type JudgePort } from './port.ts'
import { tally, type Decision } from './votes.ts'

export interface JudgeExample {
  readonly state: NextState
  readonly label: RewardValue
}

/** Below this a judge abstains and the rules decide alone. */
const passingMacroF1 = 0.6
const votesPerCase = 3
/** A judge that cannot be reached would cost three time-outs per case; after so many the rest counts as unanswered. */
const silentCasesInARow = 3
const labels: readonly RewardValue[] = [1, -1, 0]

export function judgeExamples(): JudgeExample[] {
  return selfTestCases.map(({ request, reply, role, next, label }) => ({
    state: nextStateSchema.parse({
      request,
      reply,
      messages: [{ role, text: next }],
      signals: [],
    }),
    label: labelOf(label),
  }))
}

function labelOf(value: number): RewardValue {
  const label = labels.find((candidate) => candidate === value)
  if (label === undefined) throw new RangeError(`expected a label of 1, -1 or 0, found ${value}`)
  return label
}

/** Mean over the labels of 2·hits / (2·hits + misses + false alarms); null (undecided) is a miss. */
export function macroF1(
  pairs: readonly { readonly label: RewardValue; readonly said: RewardValue | null }[],
): number {
  const scores = labels.map((label) => {
    const hits = pairs.filter((pair) => pair.label === label && pair.said === label).length
    const errors = pairs.filter((pair) => (pair.label === label) !== (pair.said === label)).length
    return hits === 0 ? 0 : (2 * hits) / (2 * hits + errors)
  })
  return scores.reduce((sum, score) => sum + score, 0) / labels.length
}

export interface SelfTestInput {
  readonly mode: ModelJudgeMode
  readonly calibration?: Calibration
  readonly examples?: readonly JudgeExample[]
  readonly timeoutMs?: number
}

export async function runSelfTest(input: SelfTestInput, port: JudgePort): Promise<SelfTest> {
  const { mode, calibration = new Map(), timeoutMs = judgeTimeoutMs } = input
  const examples = input.examples ?? judgeExamples()
  const judge = { mode, port, calibration, timeoutMs }
  const pairs: { label: RewardValue; said: RewardValue | null }[] = []
  let silent = 0
  for (const { state, label } of examples) {
    const decision: Decision =
      silent < silentCasesInARow
        ? tally(await modelVotes(state, votesPerCase, judge))
        : { kind: 'undecided' }
    silent = decision.kind === 'undecided' ? silent + 1 : 0
    pairs.push({ label, said: decision.kind === 'decided' ? decision.value : null })
  }
  const score = macroF1(pairs)
  return { mode, macroF1: score, cases: examples.length, passed: score >= passingMacroF1 }
}
