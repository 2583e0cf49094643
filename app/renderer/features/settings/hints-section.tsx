import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Choice, NumberRow, SwitchRow } from './fields.tsx'
import type { SettingsPartProps } from './settings-page.tsx'

const dayMinutes = 1440

export function HintsSection({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  return (
    <Section title={words.hints}>
      <Choice
        label={words.hintPolicy}
        help={words.hintPolicyHelp}
        value={settings.hintPolicy}
        options={words.hintPolicies}
        onChange={(hintPolicy) => onChange({ hintPolicy })}
      />
      {settings.hintPolicy === 'after-delay' && (
        <NumberRow
          label={words.hintDelay}
          value={settings.hintDelayMinutes}
          low={1}
          high={dayMinutes}
          onChange={(hintDelayMinutes) => onChange({ hintDelayMinutes })}
        />
      )}
      <SwitchRow
        label={words.scaffold}
        help={words.scaffoldHelp}
        checked={settings.scaffold}
        onChange={(scaffold) => onChange({ scaffold })}
      />
      {settings.scaffold && (
        <Choice
          label={words.scaffoldPlace}
          value={settings.scaffoldPlace}
          options={words.scaffoldPlaces}
          onChange={(scaffoldPlace) => onChange({ scaffoldPlace })}
        />
      )}
    </Section>
  )
}
