import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from './button.tsx'
import { useMessages } from './messages/index.ts'

const confirmMs = 1600

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const messages = useMessages()
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), confirmMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true))
  }
  return (
    <>
      <IconButton label={label ?? messages.app.copy} onClick={copy}>
        {isCopied ? <Check /> : <Copy />}
      </IconButton>
      <span role="status" className="sr-only">
        {isCopied ? messages.app.copied : ''}
      </span>
    </>
  )
}
