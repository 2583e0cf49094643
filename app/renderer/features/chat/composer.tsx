import { ArrowUp, Square } from 'lucide-react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useStore } from 'zustand'
import type { AppError } from '../../../shared/errors.ts'
import { toClientError } from '../../rpc/errors.ts'
import { streamingMessage } from '../../stores/conversation.ts'
import { useStores, useValue } from '../../stores/hooks.ts'
import { recall, remember } from '../../stores/memory.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { ErrorWords } from '../../ui/states.tsx'

export interface ComposerProps {
  draftKey: string
  /** A text to start from; written into the field when it changes. */
  suggestion: string | null
  onSend: (text: string) => Promise<unknown>
  footnote?: string
}

const tallestPx = 240

export function Composer({ draftKey, suggestion, onSend, footnote }: ComposerProps) {
  const messages = useMessages()
  const { conversation, host, attempt } = useStores()
  const storageKey = `draft.${draftKey}`
  const [text, setText] = useState(() => recall(storageKey) ?? '')
  const [error, setError] = useState<AppError | null>(null)
  const [isSending, setSending] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const chatId = useStore(conversation, (state) => state.chatId)
  const isStreaming = useStore(
    conversation,
    (state) => state.view.status === 'ready' && streamingMessage(state.view.value) !== null,
  )

  const write = (next: string): void => {
    setText(next)
    remember(storageKey, next === '' ? null : next)
  }
  useEffect(() => {
    if (suggestion === null) return
    setText(suggestion)
    field.current?.focus()
  }, [suggestion])
  useLayoutEffect(() => growToFit(field.current), [text])
  useEffect(() => field.current?.focus({ preventScroll: true }), [draftKey])

  const canSend = text.trim() !== '' && !isSending && !isStreaming
  async function send(): Promise<void> {
    if (!canSend) return
    setSending(true)
    setError(null)
    try {
      await onSend(text)
      write('')
    } catch (thrown) {
      // The words stay in the field; the reason stands beside them.
      setError(toClientError(thrown))
    } finally {
      setSending(false)
      field.current?.focus({ preventScroll: true })
    }
  }
  return (
    <div className="mx-auto w-full max-w-[752px] px-4 pb-4">
      <SystemNotice />
      {error !== null && (
        <p role="alert" className="mb-2 text-bad">
          <ErrorWords error={error} />
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
        className="flex items-end gap-2 rounded-lg border border-edge bg-raised py-1.5 pr-1.5 pl-3 transition-colors focus-within:border-accent"
      >
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={messages.chat.message}
          placeholder={messages.chat.placeholder}
          title={messages.chat.sendHelp}
          onChange={(event) => write(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            void send()
          }}
          className="scroll-quiet min-w-0 flex-1 resize-none bg-transparent py-1 text-chat outline-none"
        />
        {isStreaming && chatId !== null ? (
          <RoundButton
            label={messages.chat.stop}
            onClick={() => void attempt(() => host.chat.stop({ chatId }))}
          >
            <Square aria-hidden className="size-3 fill-current" />
          </RoundButton>
        ) : (
          <RoundButton label={messages.chat.send} isDisabled={!canSend}>
            <ArrowUp aria-hidden className="size-4" />
          </RoundButton>
        )}
      </form>
      {footnote !== undefined && (
        <p className="tabular mt-1 text-tiny text-ink-faint">{footnote}</p>
      )}
    </div>
  )
}

function growToFit(field: HTMLTextAreaElement | null): void {
  if (field === null) return
  field.style.height = 'auto'
  field.style.height = `${Math.min(field.scrollHeight, tallestPx)}px`
}

interface RoundButtonProps {
  label: string
  children: React.ReactNode
  isDisabled?: boolean
  onClick?: () => void
}

function RoundButton({ label, children, isDisabled = false, onClick }: RoundButtonProps) {
  return (
    <button
      type={onClick === undefined ? 'submit' : 'button'}
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
      className="inline-flex size-8 shrink-0 items-center justify-center rounded-lg bg-accent text-on-accent transition-colors hover:bg-accent-strong disabled:bg-sunken disabled:text-ink-faint"
    >
      {children}
    </button>
  )
}

/** No model, or a data folder that cannot be written to: said before anything is typed. */
function SystemNotice() {
  const messages = useMessages()
  const system = useValue('system')
  const lines = [
    system?.modelError == null ? null : `${messages.system.noModel}: ${system.modelError}`,
    system?.readOnly == null ? null : `${messages.system.readOnly}: ${system.readOnly}`,
  ].filter((line) => line !== null)
  if (lines.length === 0) return null
  return (
    <div role="alert" className="mb-2 rounded-lg bg-warn-soft px-3 py-2 text-warn">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  )
}
