import type { ReactNode } from 'react'

export interface PageProps {
  title: string
  intro?: string
  actions?: ReactNode
  children: ReactNode
  wide?: boolean
}

export function Page({ title, intro, actions, children, wide = false }: PageProps) {
  return (
    <div className="scroll-quiet h-full overflow-y-auto">
      <div className={`mx-auto px-6 pt-6 pb-16 ${wide ? 'max-w-[1240px]' : 'max-w-[860px]'}`}>
        <header className="mb-6 flex flex-wrap items-end justify-between gap-3">
          <div>
            <h1 className="text-title font-semibold tracking-tight">{title}</h1>
            {intro !== undefined && <p className="mt-1 text-ink-soft">{intro}</p>}
          </div>
          {actions}
        </header>
        {children}
      </div>
    </div>
  )
}

export function Section({
  title,
  children,
  aside,
}: {
  title: string
  children: ReactNode
  aside?: ReactNode
}) {
  return (
    <section aria-label={title} className="mb-8">
      <div className="mb-2 flex items-baseline justify-between gap-3">
        <h2 className="text-head font-semibold">{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}
