import { Tooltip } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

export const TooltipProvider = Tooltip.Provider

/** A word about the thing under the pointer or focus. */
export function Hinted({ text, children }: { text: ReactNode; children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={5}
          collisionPadding={8}
          className="z-50 max-w-72 rounded-lg bg-ink px-2.5 py-1.5 text-tiny text-page shadow-menu"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
