import { ChevronRight } from 'lucide-react'
import { Fragment, useState } from 'react'
import type { RunSummary } from '../../../shared/contract/app.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { classes } from '../../ui/classes.ts'
import { formatCount, formatNumber, formatSeconds, formatWhen } from '../../ui/format.ts'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Empty, Ready } from '../../ui/states.tsx'

const columns = 7
/** A table of every run ever is of no use to the eye; the newest come first. */
const firstShown = 50

export function RunsSection() {
  const { learning: words } = useMessages()
  const { runs } = useStores()
  const data = useResource('runs')
  return (
    <Section title={words.runs.title}>
      <Ready data={data} onRetry={() => void runs.getState().refresh()}>
        {(list) =>
          list.length === 0 ? (
            <div className="rounded-lg border border-dashed">
              <Empty>{words.runs.empty}</Empty>
            </div>
          ) : (
            <RunsTable
              runs={list.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, firstShown)}
            />
          )
        }
      </Ready>
    </Section>
  )
}

const head = 'px-2 py-1.5 text-left text-tiny font-medium text-ink-soft'

function RunsTable({ runs }: { runs: RunSummary[] }) {
  const { runs: words } = useMessages().learning
  const [openId, setOpenId] = useState<string | null>(null)
  return (
    <div className="scroll-quiet overflow-x-auto rounded-lg border bg-card">
      <table className="tabular w-full" aria-label={words.title}>
        <thead className="border-b">
          <tr>
            <th scope="col" className={head}>
              {words.started}
            </th>
            <th scope="col" className={head}>
              {words.outcome}
            </th>
            <th scope="col" className={head}>
              {words.what}
            </th>
            <th scope="col" className={head}>
              {words.version}
            </th>
            <th scope="col" className={classes(head, 'text-right')}>
              {words.samples}
            </th>
            <th scope="col" className={classes(head, 'text-right')}>
              {words.steps}
            </th>
            <th scope="col" className={classes(head, 'text-right')}>
              {words.duration}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Fragment key={run.id}>
              <RunRow
                run={run}
                isOpen={openId === run.id}
                onToggle={() => setOpenId(openId === run.id ? null : run.id)}
              />
              {openId === run.id && (
                <tr className="border-b last:border-0">
                  <td colSpan={columns} className="bg-page px-2 py-2">
                    <StepTable run={run} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const outcomeColors: Readonly<Record<RunSummary['outcome'], string>> = {
  running: 'text-accent',
  live: 'text-good',
  rejected: 'text-bad',
  refused: 'text-bad',
  'no-signal': 'text-ink-soft',
  failed: 'text-bad',
  interrupted: 'text-warn',
}

interface RunRowProps {
  run: RunSummary
  isOpen: boolean
  onToggle: () => void
}

function RunRow({ run, isOpen, onToggle }: RunRowProps) {
  const messages = useMessages()
  const language = useLanguage()
  const { runs: words } = messages.learning
  const when = formatWhen(run.startedAt, language)
  const seconds = run.endedAt === null ? null : (run.endedAt - run.startedAt) / 1000
  return (
    <tr className="border-b align-top last:border-0">
      <td className="px-2 py-2 whitespace-nowrap">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={words.show(when)}
          onClick={onToggle}
          className="inline-flex items-center gap-1 rounded-lg hover:text-accent"
        >
          <ChevronRight
            aria-hidden
            className={classes('size-3.5 transition-transform', isOpen && 'rotate-90')}
          />
          {when}
        </button>
      </td>
      <td
        className={classes('px-2 py-2 font-medium whitespace-nowrap', outcomeColors[run.outcome])}
      >
        {words.outcomes[run.outcome]}
      </td>
      <td className="min-w-52 px-2 py-2">{run.sentence}</td>
      <td className="px-2 py-2">
        {run.version === null ? '–' : messages.app.version(run.version)}
      </td>
      <td className="px-2 py-2 text-right">{run.sampleIds.length}</td>
      <td className="px-2 py-2 text-right">{run.steps.length}</td>
      <td className="px-2 py-2 text-right whitespace-nowrap">
        {seconds === null ? '–' : formatSeconds(seconds)}
      </td>
    </tr>
  )
}

function StepTable({ run }: { run: RunSummary }) {
  const { runs: words } = useMessages().learning
  const names = words.columns
  if (run.steps.length === 0) return <p className="px-2 py-1 text-ink-faint">{words.noSteps}</p>
  return (
    <table className="w-full text-right">
      <thead>
        <tr className="text-tiny text-ink-soft">
          {Object.values(names).map((name) => (
            <th key={name} scope="col" className="px-2 py-1 font-medium">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {run.steps.map((step) => (
          <tr key={step.step}>
            {[
              `${step.step}/${step.steps}`,
              formatNumber(step.loss, 3),
              formatNumber(step.lossRl, 3),
              formatNumber(step.lossOpd, 3),
              formatNumber(step.lossDemo, 3),
              formatNumber(step.lossAnchor, 3),
              formatNumber(step.gradientNorm),
              step.learningRate.toExponential(1),
              formatNumber(step.logProbGap, 3),
              formatNumber(step.outsideMass),
              formatCount(step.tokens),
              formatNumber(step.seconds, 1),
            ].map((text, column) => (
              <td key={column} className="px-2 py-0.5">
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
