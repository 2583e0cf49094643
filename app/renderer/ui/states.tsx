import { CircleAlert, RotateCw } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AppError } from '../../shared/errors.ts'
import { errorText } from '../rpc/errors.ts'
import type { Loadable } from '../stores/resource.ts'
import { Button } from './button.tsx'
import { useMessages } from './messages/index.ts'

/** Quiet bars in the place of what will come. */
export function Loading({ rows = 3 }: { rows?: number }) {
  const messages = useMessages()
  return (
    <div role="status" aria-label={messages.app.loading} className="flex flex-col gap-3 py-2">
      {Array.from({ length: rows }, (_, row) => (
        <div
          key={row}
          className="animate-breathe h-3 rounded-lg bg-sunken"
          style={{ width: `${92 - ((row * 23) % 50)}%` }}
        />
      ))}
    </div>
  )
}

export function Empty({ icon, children }: { icon?: ReactNode; children: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-8 text-center text-ink-faint [&_svg]:size-5">
      {icon}
      <p className="max-w-80">{children}</p>
    </div>
  )
}

export function ErrorWords({ error }: { error: AppError }) {
  const text = errorText(error, useMessages())
  return (
    <>
      <span>{text.sentence}</span>
      {text.fact !== null && <span className="text-ink-soft"> {text.fact}</span>}
    </>
  )
}

export function Failed({ error, onRetry }: { error: AppError; onRetry: () => void }) {
  const messages = useMessages()
  return (
    <div role="alert" className="flex flex-col items-start gap-3 rounded-lg border bg-card p-4">
      <p className="flex gap-2">
        <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
        <span>
          <ErrorWords error={error} />
        </span>
      </p>
      <Button onClick={onRetry}>
        <RotateCw aria-hidden className="size-3.5" />
        {messages.app.retry}
      </Button>
    </div>
  )
}

export interface ReadyProps<T> {
  data: Loadable<T>
  onRetry: () => void
  children: (value: T) => ReactNode
  rows?: number
}

/** Loading, failed or ready; what is empty only the content can tell. */
export function Ready<T>({ data, onRetry, children, rows = 3 }: ReadyProps<T>) {
  if (data.status === 'loading') return <Loading rows={rows} />
  if (data.status === 'failed') return <Failed error={data.error} onRetry={onRetry} />
  return children(data.value)
}
