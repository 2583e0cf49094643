import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { replaceBlock } from './docs.ts'

const document = 'Before.\n\n<!-- measured: train -->\n\nold\n\n<!-- end: train -->\n\nAfter.\n'

test('only the text between the markers changes, and a second time nothing does', () => {
  const once = replaceBlock(document, 'train', 'new')
  expect(once).toBe(document.replace('old', 'new'))
  expect(replaceBlock(once, 'train', 'new')).toBe(once)
})

test('a document without the markers is refused by name', () => {
  expect(() => replaceBlock(document, 'gemm', 'new')).toThrow(/measured: gemm/)
  expect(() => replaceBlock(document.replace('end: train', 'end'), 'train', 'x')).toThrow(
    /end: train/,
  )
})

test('the document has a place for every bench that writes to it', () => {
  const performance = readFileSync('docs/performance.md', 'utf8')
  for (const name of ['train', 'gemm', 'growth']) {
    expect(() => replaceBlock(performance, name, 'x')).not.toThrow()
  }
})
