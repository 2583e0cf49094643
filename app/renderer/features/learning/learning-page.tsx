import { useStores, useResource } from '../../stores/hooks.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Page } from '../../ui/page.tsx'
import { Ready } from '../../ui/states.tsx'
import { HeatSection } from './heat-section.tsx'
import { RewardChart } from './reward-chart.tsx'
import { RunsSection } from './runs-section.tsx'
import { SessionsChart } from './sessions-chart.tsx'
import { StatusPanel } from './status-panel.tsx'
import { StepCharts } from './step-charts.tsx'

export function LearningPage() {
  const messages = useMessages()
  const { curves } = useStores()
  const data = useResource('curves')
  return (
    <Page title={messages.learning.title} wide>
      <StatusPanel />
      <Ready data={data} onRetry={() => void curves.getState().refresh()} rows={5}>
        {(value) => (
          <>
            <div className="mb-8 grid gap-x-8 gap-y-6 lg:grid-cols-2">
              <RewardChart rewards={value.rewards} />
              <SessionsChart sessions={value.sessions} threeInARowAt={value.threeInARowAt} />
            </div>
            <HeatSection />
            <StepCharts steps={value.steps} />
          </>
        )}
      </Ready>
      <RunsSection />
    </Page>
  )
}
