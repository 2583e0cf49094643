import { CopyButton } from '../../ui/copy-button.tsx'

interface FactProps {
  name: string
  value: string
  isCopied?: boolean
  isBad?: boolean
}

/** One line of a list of facts: a name and what is so. */
export function Fact({ name, value, isCopied = false, isBad = false }: FactProps) {
  return (
    <div className="flex flex-wrap items-start gap-x-6 border-b py-2.5 last:border-0">
      <dt className="w-40 shrink-0 text-ink-soft">{name}</dt>
      <dd
        className={`flex min-w-0 flex-1 items-start gap-2 break-words ${isBad ? 'text-bad' : ''}`}
      >
        <span className={`min-w-0 ${isCopied ? 'break-all' : 'wrap-anywhere'}`}>{value}</span>
        {isCopied && <CopyButton text={value} />}
      </dd>
    </div>
  )
}
