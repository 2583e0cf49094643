import { useEffect, useId, useState, type ReactNode } from 'react'
import { useMessages } from '../../ui/messages/index.ts'
import { Pick } from '../../ui/select.tsx'
import { Toggle } from '../../ui/switch.tsx'

export interface RowProps {
  label: string
  help?: string | undefined
  htmlFor?: string
  children: ReactNode
}

export function Row({ label, help, htmlFor, children }: RowProps) {
  return (
    <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-1.5 border-b py-3 last:border-0">
      <div className="min-w-52 flex-1">
        <label htmlFor={htmlFor} className="block pt-1">
          {label}
        </label>
        {help !== undefined && <p className="max-w-[54ch] text-tiny text-ink-soft">{help}</p>}
      </div>
      <div className="flex min-h-8 w-64 items-center justify-end">{children}</div>
    </div>
  )
}

export interface ChoiceProps<Value extends string> {
  label: string
  help?: string
  value: Value
  options: Readonly<Record<Value, string>>
  onChange: (value: Value) => void
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, help, value, options, onChange } = props
  const id = useId()
  return (
    <Row label={label} help={help} htmlFor={id}>
      <Pick
        id={id}
        label={label}
        value={value}
        onChange={(next) => onChange(next as Value)}
        className="w-full"
      >
        {Object.entries<string>(options).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </Pick>
    </Row>
  )
}

export interface SwitchRowProps {
  label: string
  help?: string
  checked: boolean
  onChange: (checked: boolean) => void
}

export function SwitchRow({ label, help, checked, onChange }: SwitchRowProps) {
  const id = useId()
  return (
    <Row label={label} help={help} htmlFor={id}>
      <Toggle id={id} label={label} checked={checked} onChange={onChange} />
    </Row>
  )
}

export interface NumberRowProps {
  label: string
  help?: string
  value: number
  low: number
  high: number
  step?: number
  onChange: (value: number) => void
}

/** Saves on leaving the field or with Enter; a value outside the range is said and not saved. */
export function NumberRow({ label, help, value, low, high, step = 1, onChange }: NumberRowProps) {
  const messages = useMessages()
  const id = useId()
  const [draft, setDraft] = useState(String(value))
  useEffect(() => setDraft(String(value)), [value])
  const number = Number(draft)
  const isWhole = step % 1 !== 0 || Number.isInteger(number)
  const isGood =
    draft.trim() !== '' && Number.isFinite(number) && number >= low && number <= high && isWhole
  const save = (): void => {
    if (isGood && number !== value) onChange(number)
  }
  return (
    <Row label={label} help={help} htmlFor={id}>
      <div className="flex flex-col items-end">
        <input
          id={id}
          type="number"
          inputMode="decimal"
          min={low}
          max={high}
          step={step}
          value={draft}
          aria-invalid={!isGood}
          aria-describedby={isGood ? undefined : `${id}-error`}
          onChange={(event) => setDraft(event.target.value)}
          onBlur={save}
          onKeyDown={(event) => event.key === 'Enter' && save()}
          className="field tabular w-28 text-right"
        />
        {!isGood && (
          <p id={`${id}-error`} role="alert" className="text-tiny text-bad">
            {messages.settings.outOfRange(String(low), String(high))}
          </p>
        )}
      </div>
    </Row>
  )
}

export interface TextRowProps {
  label: string
  help?: string
  value: string
  onChange: (value: string) => void
}

export function TextRow({ label, help, value, onChange }: TextRowProps) {
  const id = useId()
  const [draft, setDraft] = useState(value)
  useEffect(() => setDraft(value), [value])
  return (
    <div className="border-b py-3 last:border-0">
      <label htmlFor={id}>{label}</label>
      {help !== undefined && <p className="text-tiny text-ink-soft">{help}</p>}
      <textarea
        id={id}
        rows={3}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => draft !== value && onChange(draft)}
        className="field mt-2"
      />
    </div>
  )
}
