import { CopyButton } from '../../ui/copy-button.tsx'
import { useMessages } from '../../ui/messages/index.ts'
import { Sheet } from '../../ui/popup.tsx'

export interface Exported {
  version: number
  path: string
  command: string
}

export function ExportSheet({
  exported,
  onClose,
}: {
  exported: Exported | null
  onClose: () => void
}) {
  const { adapters: words } = useMessages()
  return (
    <Sheet
      open={exported !== null}
      title={exported === null ? '' : words.exportTitle(exported.version)}
      onClose={onClose}
    >
      {exported !== null && (
        <>
          <CopyLine label={words.exportPath} text={exported.path} />
          <CopyLine label={words.exportCommand} text={exported.command} />
          <p className="mt-4 text-ink-soft">{words.exportNote}</p>
        </>
      )}
    </Sheet>
  )
}

function CopyLine({ label, text }: { label: string; text: string }) {
  return (
    <div className="mt-4">
      <p className="mb-1 text-tiny text-ink-soft">{label}</p>
      <div className="flex items-start gap-2 rounded-lg bg-code py-1.5 pr-1.5 pl-3">
        <code className="min-w-0 flex-1 py-1 font-mono text-tiny break-all">{text}</code>
        <CopyButton text={text} />
      </div>
    </div>
  )
}
