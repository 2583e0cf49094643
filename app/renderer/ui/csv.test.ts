import { expect, it } from 'vitest'
import { toCsv } from './csv.ts'

it('quotes what needs quoting and leaves gaps empty', () => {
  const text = toCsv(
    ['a', 'b,c'],
    [
      [1, 'say "hi"'],
      [null, 'line\nbreak'],
      [Number.NaN, ''],
    ],
  )
  expect(text).toBe('a,"b,c"\r\n1,"say ""hi"""\r\n,"line\nbreak"\r\n,\r\n')
})

it('keeps a title that looks like a formula a text', () => {
  expect(toCsv(['t'], [['=HYPERLINK("x")']])).toBe('t\r\n"\'=HYPERLINK(""x"")"\r\n')
})
