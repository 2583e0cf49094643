import { setLanguage, useLanguage, useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { Choice } from './fields.tsx'
import type { SettingsPartProps } from './settings-page.tsx'

export function AppearanceSection({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  const language = useLanguage()
  return (
    <Section title={words.appearance}>
      <Choice
        label={words.theme}
        value={settings.theme}
        options={words.themes}
        onChange={(theme) => onChange({ theme })}
      />
      <Choice
        label={words.language}
        value={language}
        options={words.languages}
        onChange={setLanguage}
      />
    </Section>
  )
}
