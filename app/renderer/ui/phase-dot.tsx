import type { LearningStatus } from '../../shared/contract/app.ts'
import { classes } from './classes.ts'

export type Phase = LearningStatus['phase']

/** Phases in which something is being worked on. */
export function isWorking(phase: Phase): boolean {
  return ['judging', 'practising', 'training', 'checking', 'swapping'].includes(phase)
}

export function PhaseDot({ phase }: { phase: Phase }) {
  const look = isWorking(phase)
    ? 'bg-accent animate-breathe'
    : phase === 'due'
      ? 'bg-accent'
      : phase === 'unavailable'
        ? 'bg-bad'
        : 'border border-ink-faint'
  return (
    <span
      aria-hidden
      className={classes('mt-1.5 inline-block size-2 shrink-0 rounded-full', look)}
    />
  )
}
