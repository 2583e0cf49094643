// Replies that are asked for before and after: in chats that do not learn, through the app like any other.
import { isRight, sums } from './arithmetic.ts'
import { controlPrompts } from './control.ts'
import type { Check } from './personas/persona.ts'
import type { Progress } from './progress.ts'
import type { Share } from './results.ts'
import { askOnce, type Seat, type UserOptions } from './user.ts'

/** The hint line as the app appends it to the last message. */
export function withHint(request: string, hint: string): string {
  return `${request}\n\n[user's hint / instruction]\n${hint}`
}

export async function measureReplies(
  user: Pick<UserOptions, 'connection' | 'watch' | 'persona'>,
  asked: { readonly requests: readonly string[]; readonly what: string },
  progress: Progress,
): Promise<Check[]> {
  const checks: Check[] = []
  for (const request of asked.requests) {
    const check = user.persona.check(await askOnce(user, request))
    checks.push(check)
    const satisfied = checks.filter((one) => one.satisfied).length
    progress.report(
      `${user.persona.name}, ${asked.what} ${checks.length}: ${check.detail}, ${satisfied} satisfied`,
      1,
    )
  }
  return checks
}

export async function askNeutral(
  seat: Seat,
  count: number,
  progress: Progress,
): Promise<readonly string[]> {
  const replies: string[] = []
  for (const prompt of controlPrompts(count)) {
    replies.push(await askOnce(seat, prompt))
    progress.report(`neutral reply ${replies.length}`, 1)
  }
  return replies
}

/** Right answers to the simple sums. */
export async function askSums(seat: Seat, progress: Progress): Promise<Share> {
  let right = 0
  for (const [index, sum] of sums.entries()) {
    if (isRight(sum, await askOnce(seat, sum.question))) right++
    progress.report(`sum ${index + 1}: ${right} right`, 1)
  }
  return [right, sums.length]
}
