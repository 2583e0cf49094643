import { AlertDialog, Dialog, Popover } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'
import { X } from 'lucide-react'
import { Button, IconButton } from './button.tsx'
import { useMessages } from './messages/index.ts'

export interface PopupProps {
  trigger: ReactElement
  /** true = the trigger only marks the place; opening is the caller's. */
  isAnchor?: boolean
  title: string
  children: ReactNode
  open?: boolean
  onOpenChange?: (open: boolean) => void
  align?: 'start' | 'center' | 'end'
}

/** A small card beside the thing that opened it. */
export function Popup(props: PopupProps) {
  const { trigger, title, children, open, onOpenChange, align = 'start', isAnchor = false } = props
  const Holder = isAnchor ? Popover.Anchor : Popover.Trigger
  const controlled = open === undefined ? {} : { open }
  const listening = onOpenChange === undefined ? {} : { onOpenChange }
  return (
    <Popover.Root {...controlled} {...listening}>
      <Holder asChild>{trigger}</Holder>
      <Popover.Portal>
        <Popover.Content
          align={align}
          sideOffset={6}
          collisionPadding={12}
          aria-label={title}
          className="scroll-quiet animate-rise z-40 max-h-[min(420px,70vh)] w-80 overflow-y-auto rounded-lg border bg-raised p-3 shadow-menu outline-none"
        >
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

const sheet =
  'animate-rise fixed top-1/2 left-1/2 z-50 w-[min(520px,calc(100vw-32px))] -translate-x-1/2 -translate-y-1/2 rounded-lg border bg-raised p-5 shadow-menu outline-none'

export interface ConfirmProps {
  open: boolean
  title: string
  text: ReactNode
  action: string
  onConfirm: () => void
  onClose: () => void
  look?: 'primary' | 'danger'
}

export function Confirm(props: ConfirmProps) {
  const messages = useMessages()
  return (
    <AlertDialog.Root open={props.open} onOpenChange={(open) => !open && props.onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-40 bg-shade" />
        <AlertDialog.Content className={sheet}>
          <AlertDialog.Title className="text-head font-semibold">{props.title}</AlertDialog.Title>
          <AlertDialog.Description asChild>
            <div className="mt-2 text-ink-soft">{props.text}</div>
          </AlertDialog.Description>
          <div className="mt-5 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>{messages.app.cancel}</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look={props.look ?? 'primary'} onClick={props.onConfirm}>
                {props.action}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

export interface SheetProps {
  open: boolean
  title: string
  children: ReactNode
  onClose: () => void
}

export function Sheet({ open, title, children, onClose }: SheetProps) {
  const messages = useMessages()
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-shade" />
        <Dialog.Content
          className={sheet}
          aria-describedby={undefined}
          // The close button would show its tooltip at once, and that would take the first Escape.
          onOpenAutoFocus={(event) => {
            event.preventDefault()
            if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus()
          }}
        >
          <div className="flex items-start justify-between gap-4">
            <Dialog.Title className="text-head font-semibold">{title}</Dialog.Title>
            <Dialog.Close asChild>
              <IconButton label={messages.app.close}>
                <X />
              </IconButton>
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
