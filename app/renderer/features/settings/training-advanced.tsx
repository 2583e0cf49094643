import type { TrainingConfig } from '../../../shared/domain/training.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Choice, NumberRow } from './fields.tsx'
import type { SettingsPartProps } from './settings-page.tsx'

const mostTokens = 64
/** Beyond ten nats a token is all but certain or impossible. */
const largestClip = 10
const largestKlWeight = 10

export function TrainingAdvanced({ settings, onChange }: SettingsPartProps) {
  const { settings: words } = useMessages()
  const { training } = settings
  const change = (next: Partial<TrainingConfig>): void =>
    onChange({ training: { ...training, ...next } })
  return (
    <details className="py-3">
      <summary className="cursor-pointer">{words.advanced}</summary>
      <p className="max-w-[54ch] pt-1 text-tiny text-ink-soft">{words.advancedHelp}</p>
      <Choice
        label={words.method}
        help={words.methodHelp}
        value={training.method}
        options={words.methods}
        onChange={(method) => change({ method })}
      />
      <Choice
        label={words.teacher}
        help={words.teacherHelp}
        value={training.teacher}
        options={words.teachers}
        onChange={(teacher) => change({ teacher })}
      />
      <Choice
        label={words.selection}
        help={words.selectionHelp}
        value={training.selection}
        options={words.selections}
        onChange={(selection) => change({ selection })}
      />
      <Choice
        label={words.support}
        help={words.supportHelp}
        value={training.support}
        options={words.supports}
        onChange={(support) => change({ support })}
      />
      <NumberRow
        label={words.supportSize}
        value={training.topK}
        low={1}
        high={mostTokens}
        onChange={(topK) => change({ topK })}
      />
      <NumberRow
        label={words.differenceClip}
        help={words.differenceClipHelp}
        value={training.differenceClip}
        low={0.1}
        high={largestClip}
        step={0.1}
        onChange={(differenceClip) => change({ differenceClip })}
      />
      <Choice
        label={words.rateSchedule}
        help={words.rateScheduleHelp}
        value={training.schedule}
        options={words.rateSchedules}
        onChange={(schedule) => change({ schedule })}
      />
      <NumberRow
        label={words.klWeight}
        help={words.klWeightHelp}
        value={training.klWeight}
        low={0}
        high={largestKlWeight}
        step={0.05}
        onChange={(klWeight) => change({ klWeight })}
      />
    </details>
  )
}
