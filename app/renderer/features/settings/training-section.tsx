import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Choice, NumberRow, SwitchRow } from './fields.tsx'
import type { SettingsPartProps } from './settings-page.tsx'
import { TrainingAdvanced } from './training-advanced.tsx'

const dayMinutes = 1440
const hourSeconds = 3600
/** A run takes at most this many samples, so more can never be asked for. */
const mostSamples = 16

export function TrainingSection({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  return (
    <Section title={words.training}>
      <Choice
        label={words.schedule}
        value={settings.schedule}
        options={words.schedules}
        onChange={(schedule) => onChange({ schedule })}
      />
      {settings.schedule === 'when-idle' && (
        <NumberRow
          label={words.idleMinutes}
          value={settings.idleMinutes}
          low={1}
          high={dayMinutes}
          onChange={(idleMinutes) => onChange({ idleMinutes })}
        />
      )}
      <NumberRow
        label={words.samplesDue}
        help={words.samplesDueHelp}
        value={settings.samplesDue}
        low={1}
        high={mostSamples}
        onChange={(samplesDue) => onChange({ samplesDue })}
      />
      <NumberRow
        label={words.quietSeconds}
        value={settings.quietSeconds}
        low={0}
        high={hourSeconds}
        onChange={(quietSeconds) => onChange({ quietSeconds })}
      />
      <SwitchRow
        label={words.practice}
        help={words.practiceHelp}
        checked={settings.practice}
        onChange={(practice) => onChange({ practice })}
      />
      <TrainingAdvanced settings={settings} onChange={onChange} />
    </Section>
  )
}
