import { Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../../ui/button.tsx'
import { download, toCsv, type Cell } from '../../ui/csv.ts'
import { useMessages } from '../../ui/messages/index.ts'
import { Empty } from '../../ui/states.tsx'

export interface ChartTable {
  head: string[]
  rows: Cell[][]
}

export interface ChartCardProps {
  title: string
  note: string
  empty: string
  /** The points as drawn, for those who cannot see the drawing. */
  table: ChartTable
  /** All points, for the file; the drawn ones when absent. */
  fullTable?: () => ChartTable
  file: string
  children: ReactNode
}

export function ChartCard(props: ChartCardProps) {
  const { learning } = useMessages()
  const { title, note, empty, table, fullTable, file, children } = props
  const save = (): void => {
    const { head, rows } = fullTable?.() ?? table
    download(file, toCsv(head, rows))
  }
  const isEmpty = table.rows.length === 0
  return (
    <figure aria-label={title} className="min-w-0">
      <figcaption className="mb-2 flex items-start justify-between gap-3">
        <div>
          <h2 className="text-head font-semibold">{title}</h2>
          <p className="text-tiny text-ink-soft">{note}</p>
        </div>
        {!isEmpty && (
          <IconButton label={`${learning.csv}: ${title}`} onClick={save}>
            <Download />
          </IconButton>
        )}
      </figcaption>
      {isEmpty ? (
        <div className="rounded-lg border border-dashed">
          <Empty>{empty}</Empty>
        </div>
      ) : (
        <>
          <div className="h-44">{children}</div>
          <HiddenTable caption={learning.dataTable(title)} table={table} />
        </>
      )}
    </figure>
  )
}

function HiddenTable({ caption, table }: { caption: string; table: ChartTable }) {
  return (
    <div className="sr-only">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {table.head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
