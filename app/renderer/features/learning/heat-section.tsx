import { useEffect, useState } from 'react'
import type { HeatMap } from '../../../shared/contract/app.ts'
import { toClientError } from '../../rpc/errors.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import type { Loadable } from '../../stores/resource.ts'
import { formatWhen } from '../../ui/format.ts'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Pick } from '../../ui/select.tsx'
import { Empty, Ready } from '../../ui/states.tsx'
import { HeatDetail } from './heat-detail.tsx'
import type { Cell } from './heat-layout.ts'
import { HeatMapView } from './heat-map.tsx'

interface Entry {
  runId: string
  sampleId: string
  at: number
  label: string
}

const newest = 'newest'

export function HeatSection() {
  const { learning: words } = useMessages()
  const { heatMaps } = useStores()
  const data = useResource('heatMaps')
  const [wanted, setWanted] = useState(newest)
  return (
    <Section
      title={words.heat.title}
      aside={
        data.status === 'ready' &&
        data.value.length > 0 && (
          <Chooser entries={data.value} value={wanted} onChange={setWanted} />
        )
      }
    >
      <Ready data={data} onRetry={() => void heatMaps.getState().refresh()} rows={4}>
        {(entries) => {
          const chosen = entries.find((entry) => keyOf(entry) === wanted) ?? entries[0]
          if (chosen !== undefined) return <OneMap entry={chosen} />
          return (
            <div className="rounded-lg border border-dashed">
              <Empty>{words.heat.empty}</Empty>
            </div>
          )
        }}
      </Ready>
    </Section>
  )
}

function keyOf(entry: Entry): string {
  return `${entry.runId}/${entry.sampleId}`
}

interface ChooserProps {
  entries: Entry[]
  value: string
  onChange: (value: string) => void
}

/** By run, newest first; "newest" follows a run while it goes on. */
function Chooser({ entries, value, onChange }: ChooserProps) {
  const { heat: words } = useMessages().learning
  const language = useLanguage()
  const runs = [...new Set(entries.map((entry) => entry.runId))]
  return (
    <Pick label={words.choose} value={value} onChange={onChange} className="w-72">
      <option value={newest}>{words.newest}</option>
      {runs.map((runId) => {
        const ofRun = entries.filter((entry) => entry.runId === runId)
        return (
          <optgroup key={runId} label={formatWhen(ofRun[0]?.at ?? 0, language)}>
            {ofRun.map((entry) => (
              <option key={keyOf(entry)} value={keyOf(entry)}>
                {entry.label}
              </option>
            ))}
          </optgroup>
        )
      })}
    </Pick>
  )
}

function useHeatMap({ runId, sampleId, at }: Entry) {
  const { host } = useStores()
  const [data, setData] = useState<Loadable<HeatMap>>({ status: 'loading' })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let isGone = false
    host.learning.heatMap({ runId, sampleId }).then(
      (value) => !isGone && setData({ status: 'ready', value }),
      (thrown: unknown) => !isGone && setData({ status: 'failed', error: toClientError(thrown) }),
    )
    return () => {
      isGone = true
    }
  }, [host, runId, sampleId, at, tries])
  return { data, retry: () => setTries(tries + 1) }
}

function OneMap({ entry }: { entry: Entry }) {
  const { heat: words } = useMessages().learning
  const { data, retry } = useHeatMap(entry)
  const [cell, setCell] = useState<{ of: string; cell: Cell } | null>(null)
  const active = cell?.of === keyOf(entry) ? cell.cell : null
  return (
    <div className="min-h-80">
      <Ready data={data} onRetry={retry} rows={4}>
        {(map) => (
          <>
            <p className="mb-2 flex flex-wrap items-center gap-x-4 text-tiny text-ink-soft">
              <span>{words.note(map.topK)}</span>
              <ScaleKey topK={map.topK} />
              <span className="text-accent">{words.chosenMark}</span>
            </p>
            <HeatMapView
              key={keyOf(entry)}
              map={map}
              active={active}
              onActive={(next) => setCell(next === null ? null : { of: keyOf(entry), cell: next })}
            />
            <HeatDetail map={map} cell={active} />
          </>
        )}
      </Ready>
    </div>
  )
}

function ScaleKey({ topK }: { topK: number }) {
  const { heat: words } = useMessages().learning
  return (
    <span className="tabular inline-flex items-center gap-1.5">
      {words.scale} 0
      <span
        aria-hidden
        className="inline-block h-2.5 w-20 rounded"
        style={{
          background: 'linear-gradient(90deg, var(--heat-low), var(--heat-mid), var(--heat-high))',
        }}
      />
      {topK}
    </span>
  )
}
