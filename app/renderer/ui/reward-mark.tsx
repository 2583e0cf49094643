import type { Reward } from '../../shared/domain/turn.ts'

export type RewardLook = 'good' | 'flat' | 'bad' | 'open'

export function rewardLook(reward: Reward): RewardLook {
  if (reward.kind !== 'decided') return 'open'
  if (reward.value === 0) return 'flat'
  return reward.value === 1 ? 'good' : 'bad'
}

export const rewardColors: Readonly<Record<RewardLook, string>> = {
  good: 'var(--good)',
  flat: 'var(--flat)',
  bad: 'var(--bad)',
  open: 'var(--ink-faint)',
}

/** The shape carries the meaning: up, bar, down, hollow ring. `x`, `y` are its middle. */
export function RewardGlyph({
  look,
  x,
  y,
  size = 10,
}: {
  look: RewardLook
  x: number
  y: number
  size?: number
}) {
  const half = size / 2
  const fill = rewardColors[look]
  if (look === 'good') {
    return <path d={`M${x} ${y - half}L${x + half} ${y + half}H${x - half}Z`} fill={fill} />
  }
  if (look === 'bad') {
    return <path d={`M${x} ${y + half}L${x + half} ${y - half}H${x - half}Z`} fill={fill} />
  }
  if (look === 'flat') {
    return <rect x={x - half} y={y - 1.5} width={size} height={3} rx={1} fill={fill} />
  }
  return <circle cx={x} cy={y} r={half - 0.75} fill="none" stroke={fill} strokeWidth={1.5} />
}

export function RewardMark({ look }: { look: RewardLook }) {
  return (
    <svg aria-hidden width={10} height={10} viewBox="0 0 10 10" className="shrink-0">
      <RewardGlyph look={look} x={5} y={5} size={9} />
    </svg>
  )
}
