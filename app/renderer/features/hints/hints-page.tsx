import { useMessages } from '../../ui/messages/index.ts'
import { Page } from '../../ui/page.tsx'
import { Inbox } from './inbox.tsx'
import { Notes } from './notes.tsx'

export function HintsPage() {
  const messages = useMessages()
  return (
    <Page title={messages.hints.title} wide>
      <div className="grid gap-8 lg:grid-cols-[minmax(0,1.25fr)_minmax(0,1fr)]">
        <Inbox />
        <Notes />
      </div>
    </Page>
  )
}
