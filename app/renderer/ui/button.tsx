import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { classes } from './classes.ts'
import { Hinted } from './tooltip.tsx'

type NativeProps = ButtonHTMLAttributes<HTMLButtonElement>

export interface ButtonProps extends NativeProps {
  look?: 'primary' | 'plain' | 'quiet' | 'danger'
  isSmall?: boolean
  ref?: Ref<HTMLButtonElement>
}

const looks = {
  primary:
    'bg-accent text-on-accent hover:bg-accent-strong disabled:bg-sunken disabled:text-ink-faint',
  plain:
    'border border-line-strong bg-raised text-ink hover:border-accent hover:text-accent disabled:border-line disabled:text-ink-faint disabled:bg-transparent',
  quiet: 'text-ink-soft hover:bg-sunken hover:text-ink disabled:text-ink-faint',
  danger: 'bg-bad text-page hover:opacity-90',
}

export function Button(props: ButtonProps) {
  const { look = 'plain', isSmall = false, className, type = 'button', ...rest } = props
  return (
    <button
      type={type}
      className={classes(
        'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-lg text-ui font-medium whitespace-nowrap transition-colors duration-150',
        isSmall ? 'h-7 px-2' : 'h-8 px-3',
        looks[look],
        className,
      )}
      {...rest}
    />
  )
}

export interface IconButtonProps extends NativeProps {
  /** The accessible name, and the tooltip. */
  label: string
  children: ReactNode
  tone?: 'plain' | 'good' | 'bad' | 'accent'
  pressed?: boolean
  ref?: Ref<HTMLButtonElement>
}

const tones = {
  plain: 'text-ink-faint hover:text-ink',
  good: 'text-good hover:bg-good-soft',
  bad: 'text-bad hover:bg-bad-soft',
  accent: 'text-accent hover:bg-accent-soft',
}

export function IconButton(props: IconButtonProps) {
  const { label, children, tone = 'plain', pressed, className, type = 'button', ...rest } = props
  return (
    <Hinted text={label}>
      <button
        type={type}
        aria-label={label}
        aria-pressed={pressed}
        className={classes(
          'inline-flex size-7 shrink-0 items-center justify-center rounded-lg transition-colors duration-150 hover:bg-sunken disabled:opacity-40 [&_svg]:size-[15px]',
          tones[tone],
          className,
        )}
        {...rest}
      >
        {children}
      </button>
    </Hinted>
  )
}
