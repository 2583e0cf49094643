import { Check } from 'lucide-react'
import { useMemo } from 'react'
import { useStore } from 'zustand'
import { useStores, useValue } from '../../stores/hooks.ts'
import { hrefOf } from '../../stores/route.ts'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { PhaseDot } from '../../ui/phase-dot.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { notesInUse, sessionsSoFar } from './rail-numbers.ts'

/** What learning does meanwhile, beside the chat and never in its way. */
export function Rail({ isOver }: { isOver: boolean }) {
  const { rail } = useMessages()
  return (
    <aside
      aria-label={rail.title}
      className={classes(
        'scroll-quiet flex w-[272px] shrink-0 flex-col gap-6 overflow-y-auto border-l bg-side px-4 py-4',
        isOver && 'animate-rise absolute top-12 right-0 bottom-0 z-20 shadow-menu',
      )}
    >
      <LearningPart />
      <RewardPart />
      <SessionPart />
      <NotesPart />
    </aside>
  )
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className="mb-1.5 text-tiny font-semibold text-ink-soft">{title}</h2>
      {children}
    </section>
  )
}

function LearningPart() {
  const { rail, app } = useMessages()
  const { host, attempt } = useStores()
  const status = useValue('learning')
  if (status === null) return <Part title={rail.title}>{app.loading}</Part>
  return (
    <Part title={rail.title}>
      <p role="status" className="flex gap-2">
        <PhaseDot phase={status.phase} />
        <span>{status.sentence}</span>
      </p>
      <Button
        look="plain"
        className="mt-2.5 w-full"
        disabled={status.trainBlocked !== null}
        title={status.trainBlocked ?? undefined}
        onClick={() => void attempt(() => host.learning.trainNow())}
      >
        {rail.trainNow}
      </Button>
      {status.trainBlocked !== null && (
        <p className="mt-1.5 text-tiny text-ink-faint">{status.trainBlocked}</p>
      )}
    </Part>
  )
}

function RewardPart() {
  const { rail } = useMessages()
  const curves = useValue('curves')
  const values = useMemo(
    () => curves?.rewards.flatMap((point) => point.rolling ?? []) ?? [],
    [curves],
  )
  return (
    <Part title={rail.reward}>
      {values.length === 0 ? (
        <p className="text-ink-faint">{rail.noReward}</p>
      ) : (
        <a href={hrefOf('learning')} className="block rounded-lg">
          <Sparkline values={values} low={-1} high={1} label={rail.rewardCurve} />
        </a>
      )}
    </Part>
  )
}

function SessionPart() {
  const { rail } = useMessages()
  const { conversation } = useStores()
  const chatId = useStore(conversation, (state) => state.chatId)
  const curves = useValue('curves')
  const { now, before } = sessionsSoFar(curves?.sessions ?? [], chatId)
  return (
    <Part title={rail.session}>
      <p className="tabular">
        {now.total === 0 ? rail.sessionEmpty : rail.sessionNow(now.accepted, now.total)}
      </p>
      {before.total > 0 && (
        <p className="tabular text-ink-faint">
          {rail.sessionBefore(before.accepted, before.total)}
        </p>
      )}
    </Part>
  )
}

function NotesPart() {
  const { rail } = useMessages()
  const { conversation } = useStores()
  const view = useStore(conversation, (state) =>
    state.view.status === 'ready' ? state.view.value : null,
  )
  const notes = useValue('notes')
  const shown = useMemo(() => notesInUse(notes ?? [], view), [notes, view])
  return (
    <Part title={rail.notes}>
      {shown.length === 0 && (
        <p className="text-ink-faint">
          {notes === null || notes.length === 0 ? rail.noNotes : rail.noNotesHere}
        </p>
      )}
      <ul className="flex flex-col gap-2">
        {shown.map(({ note, isUsedHere }) => (
          <li key={note.id} className="border-l-2 border-accent/60 pl-2.5">
            <a href={hrefOf('hints')} className="break-words hover:text-accent">
              {note.text}
            </a>
            <p className="flex items-center gap-1 text-tiny text-ink-faint">
              {note.learnedIn !== null && note.state === 'learned' && (
                <span className="inline-flex items-center gap-1 text-good">
                  <Check aria-hidden className="size-3" />
                  {rail.learnedIn(note.learnedIn)}
                </span>
              )}
              {isUsedHere && rail.usedHere}
            </p>
          </li>
        ))}
      </ul>
    </Part>
  )
}
