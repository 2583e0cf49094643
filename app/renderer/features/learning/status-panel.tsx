import { Dumbbell, Pause, Play, Sparkles } from 'lucide-react'
import type { LearningStatus } from '../../../shared/contract/app.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { isWorking, PhaseDot } from '../../ui/phase-dot.tsx'
import { Ready } from '../../ui/states.tsx'

const mostTicks = 64
const bar = 'flex h-1.5 max-w-80 flex-1 gap-0.5'

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
          <span>{status.sentence}</span>
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
  const { step, steps, phase } = status
  if (isWorking(phase) && (step === null || steps === null)) return <Busy label={status.sentence} />
  const isRun = isWorking(phase) && step !== null && steps !== null
  const done = isRun ? step : status.ready
  const all = isRun ? steps : status.due
  if (all <= 0) return null
  const label = isRun ? words.step(done, all) : words.ready(done, all)
  const ticks = Math.min(all, mostTicks)
  return (
    <div className="mt-3 flex items-center gap-3">
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={all}
        aria-valuenow={Math.min(done, all)}
        className={bar}
      >
        {Array.from({ length: ticks }, (_, tick) => (
          <span
            key={tick}
            className={classes(
              'h-full flex-1 rounded-full transition-colors',
              tick < (done * ticks) / all ? 'bg-accent' : 'bg-line',
            )}
          />
        ))}
      </div>
      <span className="tabular text-tiny text-ink-soft">{label}</span>
    </div>
  )
}

/** Work whose length is not known. */
function Busy({ label }: { label: string }) {
  return (
    <div role="progressbar" aria-label={label} className={classes(bar, 'mt-3 mb-1.5')}>
      <span className="animate-breathe h-full flex-1 rounded-full bg-accent" />
    </div>
  )
}

function Reasons({ lines }: { lines: (string | null)[] }) {
  const shown = lines.filter((line) => line !== null)
  if (shown.length === 0) return null
  return <p className="mt-2 text-tiny text-ink-faint">{shown.join(' · ')}</p>
}
