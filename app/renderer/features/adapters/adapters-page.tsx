import { useState } from 'react'
import type { Version } from '../../../shared/domain/version.ts'
import { useResource, useStores, useValue } from '../../stores/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { Page } from '../../ui/page.tsx'
import { Empty, Ready } from '../../ui/states.tsx'
import { ExportSheet, type Exported } from './export-sheet.tsx'
import { LineRow } from './line-row.tsx'
import { VersionCard } from './version-card.tsx'

export function AdaptersPage() {
  const { adapters: words } = useMessages()
  const { versions } = useStores()
  const data = useResource('versions')
  return (
    <Page title={words.title} intro={words.intro}>
      <Ready data={data} onRetry={() => void versions.getState().refresh()} rows={6}>
        {(list) => <VersionLine list={list} />}
      </Ready>
    </Page>
  )
}

function VersionLine({ list }: { list: Version[] }) {
  const { adapters: words } = useMessages()
  const { host, attempt, versions, learning } = useStores()
  const [exported, setExported] = useState<Exported | null>(null)
  const active = list.find((version) => version.state === 'active')
  const activate = async (version: number): Promise<void> => {
    await attempt(() => host.versions.activate({ version }))
    await Promise.all([versions.getState().refresh(), learning.getState().refresh()])
  }
  const exportVersion = async (version: number): Promise<void> => {
    await attempt(async () => {
      setExported({ version, ...(await host.versions.export({ version })) })
    })
  }
  return (
    <>
      <ol aria-label={words.line}>
        {list
          .toSorted((a, b) => b.version - a.version)
          .map((version) => (
            <VersionCard
              key={version.version}
              version={version}
              onActivate={() => void activate(version.version)}
              onExport={() => void exportVersion(version.version)}
            />
          ))}
        <BaseRow isActive={active === undefined} onRollBack={() => void activate(0)} />
      </ol>
      {list.length === 0 && <Empty>{words.empty}</Empty>}
      <ExportSheet exported={exported} onClose={() => setExported(null)} />
    </>
  )
}

function BaseRow({ isActive, onRollBack }: { isActive: boolean; onRollBack: () => void }) {
  const { adapters: words } = useMessages()
  const model = useValue('system')?.model?.name
  return (
    <LineRow look={isActive ? 'active' : 'retired'} isLast>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div>
          <h2 className="font-semibold">
            {words.baseName}
            {model !== undefined && <span className="font-normal text-ink-soft"> · {model}</span>}
            {isActive && <span className="ml-2 text-tiny text-accent">{words.states.active}</span>}
          </h2>
          <p className="text-ink-soft">{words.baseText}</p>
        </div>
        {!isActive && <Button onClick={onRollBack}>{words.rollBack}</Button>}
      </div>
    </LineRow>
  )
}
