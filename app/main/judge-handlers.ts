// The host's side of the `Judge` port: the base model without adapter answers on the judge lane.
import type { Policy } from './policy/index.ts'
import type { JudgeHandlers } from './workers/start.ts'

function messagesOf(input: { readonly system: string; readonly user: string }) {
  const user = { role: 'user' as const, text: input.user }
  return input.system === '' ? [user] : [{ role: 'system' as const, text: input.system }, user]
}

export function judgeHandlers(policy: () => Policy): JudgeHandlers {
  return {
    async score(input) {
      const { ids } = policy().render(messagesOf(input), {
        reserve: 16,
        continueWith: input.prefix,
      })
      const continuations = input.labels.map((label) => policy().idsOf(label))
      return policy().scoreContinuations({ lane: 'judge', promptIds: ids, continuations })
    },
    async generate(input) {
      const { ids } = policy().render(messagesOf(input), { reserve: input.maxTokens })
      const generation = await policy().generate({
        lane: 'judge',
        promptIds: ids,
        adapter: { version: 0, path: null },
        temperature: input.temperature,
        topP: 1,
        topK: 0,
        minP: 0,
        seed: input.seed,
        maxTokens: input.maxTokens,
      })
      return generation.text
    },
  }
}
