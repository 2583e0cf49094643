import { useEffect, useState } from 'react'
import type { TurnSummary } from '../../../shared/contract/app.ts'
import type { Reward, Vote } from '../../../shared/domain/turn.ts'
import { toClientError } from '../../rpc/errors.ts'
import { useStores } from '../../stores/hooks.ts'
import type { Loadable } from '../../stores/resource.ts'
import { hrefOf } from '../../stores/route.ts'
import { classes } from '../../ui/classes.ts'
import { formatNumber } from '../../ui/format.ts'
import { useMessages, type Messages } from '../../ui/messages/index.ts'
import { Popup } from '../../ui/popup.tsx'
import { RewardMark, rewardLook, type RewardLook } from '../../ui/reward-mark.tsx'
import { Ready } from '../../ui/states.tsx'

const looks: Readonly<Record<RewardLook, string>> = {
  good: 'text-good hover:bg-good-soft',
  flat: 'text-flat hover:bg-sunken',
  bad: 'text-bad hover:bg-bad-soft',
  open: 'text-ink-faint hover:bg-sunken',
}

function words(look: RewardLook, { reward }: Messages): { value: string; meaning: string } {
  if (look === 'good') return { value: reward.plus, meaning: reward.good }
  if (look === 'flat') return { value: reward.zero, meaning: reward.flat }
  if (look === 'bad') return { value: reward.minus, meaning: reward.bad }
  return { value: reward.undecided, meaning: reward.open }
}

/** Nothing is shown before the next state has been judged, unless judging failed. */
export function RewardChip({ turn }: { turn: TurnSummary }) {
  const messages = useMessages()
  const [isOpen, setOpen] = useState(false)
  if (turn.reward.kind === 'waiting' && turn.judgeError === null) return null
  const look = rewardLook(turn.reward)
  const { value, meaning } = words(look, messages)
  const name = messages.reward.name(value)
  return (
    <Popup
      title={messages.reward.votes}
      open={isOpen}
      onOpenChange={setOpen}
      trigger={
        <button
          type="button"
          aria-label={name}
          title={meaning}
          className={classes(
            'tabular animate-rise mr-1 inline-flex h-7 items-center gap-1.5 rounded-lg px-2 text-ui font-medium',
            looks[look],
          )}
        >
          <RewardMark look={look} />
          {look === 'open' ? messages.reward.undecided : value}
        </button>
      }
    >
      <p className="font-semibold">{name}</p>
      <p className="text-ink-soft">
        {meaning}
        {turn.reward.kind === 'decided' && ` · ${decidedBy(turn.reward, messages)}`}
      </p>
      {turn.judgeError !== null && (
        <p role="alert" className="mt-2 text-bad">
          {messages.reward.judgeFailed}: {turn.judgeError}
        </p>
      )}
      {isOpen && <Votes turnId={turn.id} />}
      <a href={hrefOf('learning')} className="mt-3 inline-block text-accent hover:underline">
        {messages.reward.onCurve}
      </a>
    </Popup>
  )
}

function decidedBy(
  reward: Extract<Reward, { kind: 'decided' }>,
  { reward: words }: Messages,
): string {
  if (reward.by === 'thumb') return words.byThumb
  return reward.by === 'edit' ? words.byEdit : words.byVotes
}

function Votes({ turnId }: { turnId: string }) {
  const messages = useMessages()
  const { host } = useStores()
  const [votes, setVotes] = useState<Loadable<Vote[]>>({ status: 'loading' })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let isGone = false
    host.feedback.votes({ turnId }).then(
      (value) => !isGone && setVotes({ status: 'ready', value }),
      (thrown: unknown) => !isGone && setVotes({ status: 'failed', error: toClientError(thrown) }),
    )
    return () => {
      isGone = true
    }
  }, [host, turnId, tries])
  return (
    <div className="mt-3 border-t pt-2">
      <Ready data={votes} onRetry={() => setTries(tries + 1)}>
        {(list) =>
          list.length === 0 ? (
            <p className="text-ink-faint">{messages.reward.noVotes}</p>
          ) : (
            <ul className="flex flex-col gap-2">
              {list.map((vote) => (
                <VoteRow key={vote.id} vote={vote} />
              ))}
            </ul>
          )
        }
      </Ready>
    </div>
  )
}

function VoteRow({ vote }: { vote: Vote }) {
  const { reward } = useMessages()
  const look =
    vote.value === null ? 'open' : rewardLook({ kind: 'decided', value: vote.value, by: 'votes' })
  const value =
    vote.value === null ? reward.invalid : [reward.minus, reward.zero, reward.plus][vote.value + 1]
  return (
    <li>
      <p className="tabular flex items-center gap-1.5">
        <RewardMark look={look} />
        <span className="font-medium">{value}</span>
        <span className="min-w-0 truncate text-ink-soft">
          {reward.sources[vote.source]} · {vote.name}
        </span>
        <span className="ml-auto shrink-0 text-tiny text-ink-faint">
          {reward.weight(formatNumber(vote.weight, 1))}
          {vote.durationMs > 0 && ` · ${reward.duration(formatNumber(vote.durationMs, 0))}`}
        </span>
      </p>
      {vote.raw !== '' && (
        <p className="scroll-quiet mt-1 max-h-28 overflow-y-auto rounded-lg bg-code px-2 py-1 font-mono text-tiny break-words whitespace-pre-wrap">
          {vote.raw}
        </p>
      )}
    </li>
  )
}
