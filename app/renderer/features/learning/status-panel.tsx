import { Dumbbell, Pause, Play, Sparkles } from 'lucide-react'
import type { LearningStatus } from '../../../shared/contract/app.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { isWorking, PhaseDot } from '../../ui/phase-dot.tsx'
import { Ready } from '../../ui/states.tsx'

export function StatusPanel() {
  const { learning } = useStores()
  const data = useResource('learning')
  return (
    <div className="mb-8 rounded-lg border bg-card px-4 py-3">
      <Ready data={data} onRetry={() => void learning.getState().refresh()} rows={2}>
        {(status) => <Status status={status} />}
      </Ready>
    </div>
  )
}

function Status({ status }: { status: LearningStatus }) {
  const { learning: words } = useMessages()
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3">
        <p role="status" className="flex min-w-60 flex-1 gap-2.5 text-chat">
          <span className="mt-0.5">
            <PhaseDot phase={status.phase} />
          </span>
          {status.sentence}
        </p>
        <Actions status={status} />
      </div>
      <Progress status={status} />
      <Reasons
        lines={[
          status.trainBlocked === null ? null : `${words.trainBlocked} ${status.trainBlocked}`,
          status.practiceBlocked === null
            ? null
            : `${words.practiceBlocked} ${status.practiceBlocked}`,
        ]}
      />
    </>
  )
}

function Actions({ status }: { status: LearningStatus }) {
  const { learning: words } = useMessages()
  const { host, attempt, learning } = useStores()
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    await attempt(action)
    await learning.getState().refresh()
  }
  const isPaused = status.phase === 'paused'
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        look="primary"
        disabled={status.trainBlocked !== null}
        onClick={() => void run(() => host.learning.trainNow())}
      >
        <Sparkles aria-hidden className="size-3.5" />
        {words.trainNow}
      </Button>
      <Button
        disabled={status.practiceBlocked !== null}
        onClick={() => void run(() => host.learning.practiceNow())}
      >
        <Dumbbell aria-hidden className="size-3.5" />
        {words.practiseNow}
      </Button>
      <Button
        look="quiet"
        disabled={status.phase === 'unavailable'}
        onClick={() => void run(() => (isPaused ? host.learning.resume() : host.learning.pause()))}
      >
        {isPaused ? (
          <Play aria-hidden className="size-3.5" />
        ) : (
          <Pause aria-hidden className="size-3.5" />
        )}
        {isPaused ? words.resume : words.pause}
      </Button>
    </div>
  )
}

/** Ticks: steps of the running run, or samples on the way to the next one. */
function Progress({ status }: { status: LearningStatus }) {
  const { learning: words } = useMessages()
  const isRun = status.step !== null && status.steps !== null && isWorking(status.phase)
  const done = isRun ? (status.step ?? 0) : status.ready
  const all = isRun ? (status.steps ?? 0) : status.due
  const label = isRun ? words.step(done, all) : words.ready(done, all)
  if (all <= 0) return null
  return (
    <div className="mt-3 flex items-center gap-3">
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={all}
        aria-valuenow={Math.min(done, all)}
        className="flex h-1.5 max-w-80 flex-1 gap-0.5"
      >
        {Array.from({ length: Math.min(all, 64) }, (_, tick) => (
          <span
            key={tick}
            className={classes(
              'h-full flex-1 rounded-full transition-colors',
              tick < (done * Math.min(all, 64)) / all ? 'bg-accent' : 'bg-line',
            )}
          />
        ))}
      </div>
      <span className="tabular text-tiny text-ink-soft">{label}</span>
    </div>
  )
}

function Reasons({ lines }: { lines: (string | null)[] }) {
  const shown = lines.filter((line) => line !== null)
  if (shown.length === 0) return null
  return <p className="mt-2 text-tiny text-ink-faint">{shown.join(' · ')}</p>
}
