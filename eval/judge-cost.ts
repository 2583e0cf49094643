// How many tokens the model judge read and wrote: its prompts are made again from the words that it was shown.
import { generatePrompt, scorePrompt } from '../app/main/prm/prompts.ts'
import { openPolicy } from '../app/main/policy/index.ts'
import type { NextState } from '../app/shared/contract/prm.ts'
import type { Judged } from './tally.ts'

/** Labels that a score prompt compares; each is a token or two. */
const labels = 3

/** Tokens of all prompts and answers; 0 where the judge never voted. */
export async function judgeTokens(modelPath: string, judged: readonly Judged[]): Promise<number> {
  if (judged.length === 0) return 0
  await using policy = await openPolicy({ modelPath, device: 'cpu', threads: 1, contextSize: 512 })
  const count = (text: string): number => policy.idsOf(text).length
  let tokens = 0
  for (const { request, reply, next, asked, raw } of judged) {
    const messages = [{ role: 'user' as const, text: next }]
    const state: NextState = { request, reply, messages, signals: [] }
    for (const [index, name] of asked.entries()) {
      if (name.startsWith('generate')) {
        const { system, user } = generatePrompt('judge', state)
        tokens += count(system) + count(user) + count(raw[index] ?? '')
      } else {
        const { system, user, prefix } = scorePrompt(index, state)
        tokens += count(system) + count(user) + count(prefix) + labels
      }
    }
  }
  return tokens
}
