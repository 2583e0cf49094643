import type { HeatMap } from '../../../shared/contract/app.ts'
import { classes } from '../../ui/classes.ts'
import { formatNumber } from '../../ui/format.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { listsAt, overlapAt, visibleToken, type Cell, type RankedToken } from './heat-layout.ts'

/** Both lists at the cell under the pointer; always the same height, so nothing jumps. */
export function HeatDetail({ map, cell }: { map: HeatMap; cell: Cell | null }) {
  const { heat: words } = useMessages().learning
  const hint = cell === null ? undefined : map.hints[cell.hint]
  if (cell === null || hint === undefined) {
    return <p className="min-h-36 pt-3 text-ink-faint">{words.hover}</p>
  }
  const lists = listsAt(map, cell)
  return (
    <div className="min-h-36 pt-3">
      <p className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <code className="rounded bg-code px-1.5 font-mono font-semibold">
          {visibleToken(map.responseTexts[cell.position] ?? '')}
        </code>
        <span className="text-ink-soft">
          {words.position(cell.position + 1, map.responseIds.length)}
        </span>
        <span className="tabular font-medium">
          {words.overlapOf(overlapAt(map, cell), map.topK)}
        </span>
        <span className="min-w-0 truncate text-ink-soft">{hint.text}</span>
      </p>
      <div className="grid max-w-[640px] grid-cols-2 gap-6">
        <TokenList title={words.student} tokens={lists.student} />
        <TokenList title={words.teacher} tokens={lists.teacher} />
      </div>
    </div>
  )
}

function TokenList({ title, tokens }: { title: string; tokens: RankedToken[] }) {
  const { heat: words } = useMessages().learning
  return (
    <div className="min-w-0">
      <p className="text-tiny text-ink-soft">{title}</p>
      <ol>
        {tokens.map((token) => (
          <li key={token.id} className="flex items-center gap-2 py-0.5">
            <code
              title={token.isShared ? words.inBoth : undefined}
              className={classes(
                'w-24 shrink-0 truncate font-mono text-ui',
                token.isShared ? 'font-semibold text-accent' : 'text-ink-soft',
              )}
            >
              {visibleToken(token.text)}
            </code>
            <span aria-hidden className="h-1.5 min-w-0 flex-1 rounded-full bg-sunken">
              <span
                className={classes(
                  'block h-full rounded-full',
                  token.isShared ? 'bg-accent' : 'bg-line-strong',
                )}
                style={{ width: `${Math.min(100, 100 * (token.probability || 0))}%` }}
              />
            </span>
            <span className="tabular w-12 shrink-0 text-right text-tiny text-ink-soft">
              {formatNumber(100 * token.probability, 1)} %
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}
