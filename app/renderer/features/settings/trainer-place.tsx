import type { SystemInfo } from '../../../shared/contract/app.ts'
import { useResource, useStores } from '../../stores/hooks.ts'
import { formatWhen } from '../../ui/format.ts'
import { useLanguage, useMessages } from '../../ui/messages/index.ts'
import { Choice } from './fields.tsx'

/** On what and where training runs, why it may have moved by itself, and the way back. */
export function TrainerPlace({ info }: { info: SystemInfo }) {
  const { settings: words } = useMessages()
  const language = useLanguage()
  const { actions } = useStores()
  const data = useResource('settings')
  if (data.status !== 'ready') return null
  const { crashedAt } = info.trainer
  return (
    <>
      <Choice
        label={words.trainerDevice}
        help={words.trainerDeviceHelp}
        value={data.value.trainerDevice}
        options={words.trainerDevices}
        onChange={(trainerDevice) => void actions.changeSettings({ trainerDevice })}
      />
      <Choice
        label={words.trainerPlace}
        help={
          crashedAt === null
            ? words.trainerPlaceHelp
            : words.trainerCrashed(formatWhen(crashedAt, language))
        }
        value={data.value.trainerIsolation}
        options={words.trainerPlaces}
        onChange={(trainerIsolation) => void actions.changeSettings({ trainerIsolation })}
      />
    </>
  )
}
