import type { Settings } from '../../../shared/domain/settings.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Page } from '../../ui/page.tsx'
import { Ready } from '../../ui/states.tsx'
import { AppearanceSection } from './appearance-section.tsx'
import { HintsSection } from './hints-section.tsx'
import { JudgeSection } from './judge-section.tsx'
import { MachineSection } from './machine-section.tsx'
import { RepliesSection } from './replies-section.tsx'
import { TrainingSection } from './training-section.tsx'

export interface SettingsPartProps {
  settings: Settings
  onChange: (change: Partial<Settings>) => void
}

export function SettingsPage() {
  const { settings: words } = useMessages()
  const { settings, actions } = useStores()
  const data = useResource('settings')
  const change = (next: Partial<Settings>): void => void actions.changeSettings(next)
  return (
    <Page title={words.title} intro={words.saved}>
      <Ready data={data} onRetry={() => void settings.getState().refresh()} rows={8}>
        {(value) => (
          <>
            <HintsSection settings={value} onChange={change} />
            <TrainingSection settings={value} onChange={change} />
            <RepliesSection settings={value} onChange={change} />
            <JudgeSection settings={value} onChange={change} />
            <AppearanceSection settings={value} onChange={change} />
          </>
        )}
      </Ready>
      <MachineSection />
    </Page>
  )
}
