import { describe, expect, it } from 'vitest'
import { en } from './en.ts'
import { zh } from './zh.ts'

type Leaf = [path: string, value: unknown]

function leaves(node: unknown, path = ''): Leaf[] {
  if (typeof node !== 'object' || node === null) return [[path, node]]
  return Object.entries(node).flatMap(([key, value]) => leaves(value, `${path}.${key}`))
}

const cell = { hint: 1, position: 2, token: 'x', overlap: 3, of: 4 }

/** The texts with samples filled in; every function of the catalogue takes up to three of these. */
function texts(catalogue: unknown): Leaf[] {
  return leaves(catalogue).map(([path, value]) => {
    if (typeof value !== 'function') return [path, value]
    const fill = value as (...given: unknown[]) => unknown
    return [path, path.endsWith('.cell') ? fill(cell) : fill(2, 3, 4)]
  })
}

describe('the catalogues', () => {
  it('have the same keys', () => {
    expect(
      leaves(zh)
        .map(([path]) => path)
        .toSorted(),
    ).toEqual(
      leaves(en)
        .map(([path]) => path)
        .toSorted(),
    )
  })

  it('have a text for every key', () => {
    for (const [path, text] of [...texts(en), ...texts(zh)]) {
      expect(typeof text === 'string' && text.trim() !== '', path).toBe(true)
      expect(text, path).not.toMatch(/undefined|NaN|\[object/)
    }
  })

  it('say singular and plural apart in English', () => {
    expect(en.chat.notes(1)).toBe('+ 1 note')
    expect(en.chat.notes(2)).toBe('+ 2 notes')
    expect(en.app.version(0)).toBe('base')
  })

  it('are really two languages', () => {
    const han = texts(zh).filter(([, text]) => /\p{Script=Han}/u.test(String(text)))
    expect(han.length / texts(zh).length).toBeGreaterThan(0.9)
  })
})
