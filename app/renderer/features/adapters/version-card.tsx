import { Download, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { GateCheck, Version } from '../../../shared/domain/version.ts'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { formatNumber, formatWhen } from '../../ui/format.ts'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { LineRow } from './line-row.tsx'

export interface VersionCardProps {
  version: Version
  onActivate: () => void
  onExport: () => void
}

const stateColors: Readonly<Record<Version['state'], string>> = {
  active: 'text-accent',
  candidate: 'text-accent',
  retired: 'text-ink-faint',
  rejected: 'text-bad',
}

export function VersionCard({ version, onActivate, onExport }: VersionCardProps) {
  const messages = useMessages()
  const words = messages.adapters
  const [isOpen, setOpen] = useState(version.state === 'active')
  const name = messages.app.version(version.version)
  return (
    <LineRow look={version.state}>
      <article aria-label={name}>
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <h2 className="text-chat font-semibold">
              {name}
              <span className={classes('ml-2 text-tiny font-medium', stateColors[version.state])}>
                {words.states[version.state]}
              </span>
            </h2>
            <Facts version={version} />
          </div>
          <div className="flex gap-2">
            {version.state === 'retired' && <Button onClick={onActivate}>{words.activate}</Button>}
            {version.state !== 'rejected' && (
              <Button look="quiet" onClick={onExport}>
                <Download aria-hidden className="size-3.5" />
                {words.export}
              </Button>
            )}
          </div>
        </div>
        {version.gate !== null && <p className="mt-1">{version.gate.sentence}</p>}
        {version.tainted !== null && (
          <p className="mt-2 flex gap-2 rounded-lg bg-warn-soft px-3 py-2 text-warn">
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
            <span>
              <b>{words.tainted}.</b> {version.tainted}
            </span>
          </p>
        )}
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="mt-2 rounded-lg text-tiny text-ink-soft underline decoration-line-strong underline-offset-4 hover:text-accent"
        >
          {words.checks}
        </button>
        {isOpen && (
          <GateTable checks={version.gate?.checks ?? null} label={`${name}: ${words.checks}`} />
        )}
      </article>
    </LineRow>
  )
}

function Facts({ version }: { version: Version }) {
  const messages = useMessages()
  const language = useLanguage()
  const words = messages.adapters
  const { report } = version
  const facts = [
    words.made(formatWhen(version.createdAt, language)),
    words.from(messages.app.version(version.parent)),
    words.samples(version.sampleIds.length),
    words.steps(report.steps.length),
    words.seconds(formatNumber(report.seconds, 0)),
    ...(report.excluded.length > 0 ? [words.excluded(report.excluded.length)] : []),
  ]
  return <p className="tabular text-tiny text-ink-soft">{facts.join(' · ')}</p>
}

const verdictColors: Readonly<Record<GateCheck['verdict'], string>> = {
  passed: 'text-good',
  failed: 'text-bad',
  'not-tested': 'text-ink-faint',
}

const verdictMarks: Readonly<Record<GateCheck['verdict'], string>> = {
  passed: '✓',
  failed: '✕',
  'not-tested': '–',
}

function GateTable({ checks, label }: { checks: GateCheck[] | null; label: string }) {
  const { adapters: words } = useMessages()
  if (checks === null) return <p className="mt-2 text-ink-faint">{words.noGate}</p>
  return (
    <div className="scroll-quiet mt-2 overflow-x-auto rounded-lg border bg-card">
      <table aria-label={label} className="tabular w-full">
        <thead>
          <tr className="border-b text-left text-tiny text-ink-soft">
            <th scope="col" className="px-3 py-1.5 font-medium">
              {words.check}
            </th>
            <th scope="col" className="px-3 py-1.5 font-medium">
              {words.result}
            </th>
            <th scope="col" className="px-3 py-1.5 font-medium">
              {words.details}
            </th>
          </tr>
        </thead>
        <tbody>
          {checks.map((check) => (
            <tr key={check.name} className="border-b align-top last:border-0">
              <th scope="row" className="px-3 py-1.5 text-left font-normal whitespace-nowrap">
                {words.checkNames[check.name]}
              </th>
              <td
                className={classes('px-3 py-1.5 whitespace-nowrap', verdictColors[check.verdict])}
              >
                <span aria-hidden>{verdictMarks[check.verdict]} </span>
                {words.verdicts[check.verdict]}
              </td>
              <td className="px-3 py-1.5 text-ink-soft">{check.sentence}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
