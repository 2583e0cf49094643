import { ChevronDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export interface PickProps {
  label: string
  value: string
  onChange: (value: string) => void
  children: ReactNode
  className?: string
  id?: string
}

/** The platform's own list: keyboard, touch and screen readers come with it. */
export function Pick({ label, value, onChange, children, className, id }: PickProps) {
  return (
    <span className={classes('relative inline-flex min-w-0 items-center', className)}>
      <select
        id={id}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="h-8 w-full min-w-0 appearance-none truncate rounded-lg border border-edge bg-raised pr-8 pl-2.5 text-ui"
      >
        {children}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute right-2.5 size-3.5 text-ink-faint"
      />
    </span>
  )
}
