// What the product's rules alone say about a labelled reply: the judge's own path with the model switched off.
import type { Verdict } from '../../app/shared/contract/prm.ts'
import { judgeTurn, type JudgePort } from '../../app/main/prm/index.ts'
import { ruleVotes } from '../../app/main/signals/index.ts'
import type { LabelledReply } from './replies.ts'
import type { Pair } from './measure.ts'

const noModel: JudgePort = {
  score: () => Promise.reject(new Error('the rules alone ask no model')),
  generate: () => Promise.reject(new Error('the rules alone ask no model')),
}

export function verdictOfRules({ state }: LabelledReply): Promise<Verdict> {
  const options = { mode: 'off' as const, votes: 1, ruleWeights: {} }
  const input = { state, options, notes: [], ruleVotes: ruleVotes(state), judgeUsable: false }
  return judgeTurn(input, noModel)
}

export function pairOf(reply: LabelledReply, { reward }: Verdict): Pair {
  return { label: reply.label, said: reward.kind === 'decided' ? reward.value : null }
}
