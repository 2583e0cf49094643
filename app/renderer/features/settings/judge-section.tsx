import { useValue } from '../../stores/hooks.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Section } from '../../ui/page.tsx'
import type { SystemInfo } from '../../../shared/contract/app.ts'
import { Choice, NumberRow, SwitchRow } from './fields.tsx'
import { Fact } from './fact.tsx'
import type { SettingsPartProps } from './settings-page.tsx'

const mostVotes = 9

export function JudgeSection({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  const judge = useValue('system')?.judge
  return (
    <Section title={words.judge}>
      {judge !== undefined && (
        <p
          role="status"
          className={`rounded-lg px-3 py-2 ${judge.abstains ? 'bg-warn-soft text-warn' : 'bg-sunken text-ink-soft'}`}
        >
          {judge.sentence}
        </p>
      )}
      <Choice
        label={words.judgeMode}
        value={settings.judge.mode}
        options={words.judgeModes}
        onChange={(mode) => onChange({ judge: { ...settings.judge, mode } })}
      />
      {judge !== undefined && judge.rules.length > 0 && <Rules rules={judge.rules} />}
      {settings.judge.mode !== 'off' && (
        <NumberRow
          label={words.judgeVotes}
          value={settings.judge.votes}
          low={1}
          high={mostVotes}
          onChange={(votes) => onChange({ judge: { ...settings.judge, votes } })}
        />
      )}
      {settings.judge.mode !== 'off' && (
        <SwitchRow
          label={words.judgeHidesRequest}
          help={words.judgeHidesRequestHelp}
          checked={settings.judgeHidesRequest}
          onChange={(judgeHidesRequest) => onChange({ judgeHidesRequest })}
        />
      )}
    </Section>
  )
}

/** What the user's thumbs taught about each rule. */
function Rules({ rules }: { rules: SystemInfo['judge']['rules'] }) {
  const { settings: words } = useMessages()
  return (
    <details className="border-b py-2.5">
      <summary>{words.rulesAndThumbs}</summary>
      <dl>
        {rules.map(({ rule, agreed, contradicted, weight }) => (
          <Fact
            key={rule}
            name={rule}
            value={words.ruleRecord(String(agreed), String(contradicted), weight.toFixed(2))}
          />
        ))}
      </dl>
    </details>
  )
}
