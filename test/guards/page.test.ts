// What the page loads: its content policy forbids code from strings, which zod tries at its start.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const valueImport = /^(?:import|export) (?!type\b)(?:[^'"]*? from )?'([^']+)'/gmu

/** Every module that `entry` loads, with the chain of files that leads to it; packages by their names. */
function loadedBy(entry: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>([[entry, [entry]]])
  const open = [entry]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const chain = found.get(file) ?? []
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(valueImport)) {
      const module = target.startsWith('.') ? path.join(path.dirname(file), target) : target
      if (found.has(module)) continue
      found.set(module, [...chain, module])
      if (/\.tsx?$/u.test(module) && target.startsWith('.')) open.push(module)
    }
  }
  return found
}

test('the page loads no zod, not through shared files either', () => {
  const loaded = loadedBy('app/renderer/main.tsx')
  expect(loaded.size).toBeGreaterThan(80)
  expect(loaded.get('zod')).toBeUndefined()
})

test('a chain that leads to zod is seen', () => {
  expect(loadedBy('app/shared/domain/settings.ts').get('zod')).toEqual([
    'app/shared/domain/settings.ts',
    'zod',
  ])
})
