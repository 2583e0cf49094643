// Tables as aligned Markdown, readable in a terminal and in docs/ alike, in the form that Prettier leaves alone.

export interface Column<Row> {
  readonly title: string
  readonly align: 'left' | 'right'
  readonly cell: (row: Row) => string
}

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = columns.map(({ title, cell }) => [title, ...rows.map(cell)])
  const widths = cells.map((column) => Math.max(3, ...column.map((text) => [...text].length)))
  const line = (index: number): string =>
    columns.map(({ align }, c) => pad(cells[c]?.[index] ?? '', widths[c] ?? 0, align)).join(' | ')
  const rule = columns
    .map(({ align }, c) => {
      const width = widths[c] ?? 0
      return align === 'left' ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`
    })
    .join(' | ')
  const lines = [line(0), rule, ...rows.map((_, index) => line(index + 1))]
  return lines.map((text) => `| ${text} |`).join('\n')
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(width - [...text].length)
  return align === 'left' ? text + space : space + text
}

export const missing = '–'

/** A number for a cell; what was not measured is a dash. */
export function cell(value: number | null, digits = 0): string {
  return value === null ? missing : value.toFixed(digits)
}

export function mebibytes(bytes: number | null): string {
  return cell(bytes === null ? null : bytes / 2 ** 20)
}
