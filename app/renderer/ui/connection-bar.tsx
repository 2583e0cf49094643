import { useEffect, useState } from 'react'
import { useStore } from 'zustand'
import { useStores } from '../stores/hooks.ts'
import { useMessages } from './messages/index.ts'

export function ConnectionBar() {
  const messages = useMessages()
  const { connection, retryNow } = useStores()
  const state = useStore(connection, (current) => current.state)
  const [wasOpen, setWasOpen] = useState(false)
  useEffect(() => {
    if (state === 'open') setWasOpen(true)
  }, [state])
  return (
    <div role="status" aria-live="assertive">
      {state === 'lost' && (
        <div className="flex items-center justify-center gap-3 bg-warn-soft px-4 py-1.5 text-warn">
          <span>{wasOpen ? messages.connection.lost : messages.connection.unreachable}</span>
          <button
            type="button"
            onClick={retryNow}
            className="font-semibold underline underline-offset-2"
          >
            {messages.connection.retryNow}
          </button>
        </div>
      )}
    </div>
  )
}
