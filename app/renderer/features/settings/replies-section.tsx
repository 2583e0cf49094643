import type { Sampling } from '../../../shared/domain/chat.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import { NumberRow, TextRow } from './fields.tsx'
import type { SettingsPartProps } from './settings-page.tsx'

const mostTokens = 32_768

export function RepliesSection({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  const { sampling } = settings
  const change = (part: Partial<Sampling>): void => onChange({ sampling: { ...sampling, ...part } })
  return (
    <Section title={words.replies}>
      <TextRow
        label={words.systemPrompt}
        help={words.systemPromptHelp}
        value={settings.systemPrompt}
        onChange={(systemPrompt) => onChange({ systemPrompt })}
      />
      <NumberRow
        label={words.temperature}
        value={sampling.temperature}
        low={0}
        high={2}
        step={0.1}
        onChange={(temperature) => change({ temperature })}
      />
      <NumberRow
        label={words.topP}
        help={words.samplingHelp}
        value={sampling.topP}
        low={0.01}
        high={1}
        step={0.01}
        onChange={(topP) => change({ topP })}
      />
      <NumberRow
        label={words.topK}
        value={sampling.topK}
        low={0}
        high={1000}
        onChange={(topK) => change({ topK })}
      />
      <NumberRow
        label={words.minP}
        value={sampling.minP}
        low={0}
        high={1}
        step={0.01}
        onChange={(minP) => change({ minP })}
      />
      <NumberRow
        label={words.maxTokens}
        value={sampling.maxTokens}
        low={1}
        high={mostTokens}
        onChange={(maxTokens) => change({ maxTokens })}
      />
    </Section>
  )
}
