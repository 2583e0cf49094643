import type { ReactNode } from 'react'
import type { Version } from '../../../shared/domain/version.ts'

export interface LineRowProps {
  look: Version['state']
  isLast?: boolean
  children: ReactNode
}

/** One stop on the line: filled = live, ring = waiting or retired, cross = rejected. */
export function LineRow({ look, isLast = false, children }: LineRowProps) {
  return (
    <li className="flex gap-4">
      <div aria-hidden className="flex w-5 shrink-0 flex-col items-center">
        <svg viewBox="0 0 20 20" className="mt-0.5 size-5 shrink-0">
          <LineMark look={look} />
        </svg>
        {!isLast && <span className="w-px flex-1 bg-line-strong" />}
      </div>
      <div className="min-w-0 flex-1 pb-7">{children}</div>
    </li>
  )
}

function LineMark({ look }: { look: Version['state'] }) {
  if (look === 'active') {
    return (
      <>
        <circle cx={10} cy={10} r={9} fill="var(--accent-soft)" />
        <circle cx={10} cy={10} r={5} fill="var(--accent)" />
      </>
    )
  }
  if (look === 'rejected') {
    return (
      <path d="M5.5 5.5l9 9m0-9l-9 9" stroke="var(--bad)" strokeWidth={2} strokeLinecap="round" />
    )
  }
  const stroke = look === 'candidate' ? 'var(--accent)' : 'var(--ink-faint)'
  const dash = look === 'candidate' ? '2.5 2' : undefined
  return (
    <circle
      cx={10}
      cy={10}
      r={5}
      fill="none"
      stroke={stroke}
      strokeWidth={1.75}
      strokeDasharray={dash}
    />
  )
}
