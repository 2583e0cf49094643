import { format } from 'prettier'
import { expect, test } from 'vitest'
import { cell, mebibytes, missing, table } from './table.ts'

interface Row {
  readonly name: string
  readonly rate: number | null
}

const rows: Row[] = [
  { name: 'Hone', rate: 512.34 },
  { name: 'a program with a longer name, × 2', rate: null },
]
const text = table(rows, [
  { title: 'program', align: 'left', cell: ({ name }) => name },
  { title: 'GFLOP/s', align: 'right', cell: ({ rate }) => cell(rate, 1) },
])

test('columns are aligned and a value that was not measured is a dash', () => {
  const lines = text.split('\n')
  expect(new Set(lines.map((line) => [...line].length)).size).toBe(1)
  expect(lines[2]).toMatch(/^\| Hone +\| +512\.3 \|$/)
  expect(lines[3]).toMatch(new RegExp(`2 \\| +${missing} \\|$`))
})

test('Prettier leaves a table as it is', async () => {
  expect(await format(`${text}\n`, { parser: 'markdown' })).toBe(`${text}\n`)
})

test('memory is shown in MiB', () => {
  expect(mebibytes(3 * 2 ** 20)).toBe('3')
  expect(mebibytes(null)).toBe(missing)
})
