import type { SystemInfo } from '../../../shared/contract/app.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { formatCount, formatSize } from '../../ui/format.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Ready } from '../../ui/states.tsx'
import { Fact } from './fact.tsx'
import { TrainerBackendFact } from './trainer-backend.tsx'
import { TrainerPlace } from './trainer-place.tsx'

export function MachineSection() {
  const { settings: words } = useMessages()
  const { system } = useStores()
  const data = useResource('system')
  return (
    <Section title={words.machine}>
      <Ready data={data} onRetry={() => void system.getState().refresh()} rows={6}>
        {(info) => (
          <>
            <Facts info={info} />
            <TrainerPlace info={info} />
          </>
        )}
      </Ready>
    </Section>
  )
}

function Facts({ info }: { info: SystemInfo }) {
  const messages = useMessages()
  const words = messages.settings
  const { model } = info
  return (
    <dl>
      {model === null ? (
        <Fact
          name={words.model}
          value={`${messages.system.noModel}: ${info.modelError ?? ''}`}
          isBad
        />
      ) : (
        <>
          <Fact name={words.model} value={model.name} />
          <Fact name={words.modelFile} value={model.path} isCopied />
          <Fact
            name={words.architecture}
            value={`${model.architecture} · ${formatSize(model.sizeBytes)} · ${words.context} ${words.tokens(formatCount(model.contextSize))}`}
          />
        </>
      )}
      <Fact name={words.device} value={info.compute.sentence} />
      <Fact name={words.threads} value={String(info.compute.threads)} />
      <Fact name={words.trainer} value={info.trainer.sentence} isBad={!info.trainer.available} />
      <TrainerBackendFact />
      <Fact name={words.dataFolder} value={info.dataDir} isCopied />
      {info.readOnly !== null && (
        <Fact name={messages.system.readOnly} value={info.readOnly} isBad />
      )}
      <Fact name={words.appVersion} value={info.appVersion} />
    </dl>
  )
}
