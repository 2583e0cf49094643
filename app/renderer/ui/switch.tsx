import { Switch } from 'radix-ui'

export interface ToggleProps {
  label: string
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
  id?: string
}

export function Toggle({ label, checked, onChange, disabled = false, id }: ToggleProps) {
  return (
    <Switch.Root
      id={id}
      aria-label={label}
      checked={checked}
      disabled={disabled}
      onCheckedChange={onChange}
      className="relative h-[18px] w-8 shrink-0 rounded-full border border-edge bg-sunken transition-colors duration-150 data-[state=checked]:border-accent data-[state=checked]:bg-accent disabled:opacity-50"
    >
      <Switch.Thumb className="block size-3 translate-x-[2px] rounded-full bg-ink-faint transition-transform duration-150 data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent" />
    </Switch.Root>
  )
}
