import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findMachineTraces, isOurs } from '../support/machine-traces.ts'

/** Files of the tree that git keeps or would keep. */
function keptFiles(): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  return listed.split('\n').filter((file) => file !== '' && existsSync(file))
}

test('the lock names no registry, so it works with any mirror', () => {
  const lock = readFileSync('package-lock.json', 'utf8')
  expect(lock).not.toContain('"resolved": "http')
  expect(lock).toContain('"lockfileVersion"')
})

test('no file names a path of one machine or the host of a registry', () => {
  const found = keptFiles()
    .filter((file) => isOurs(file))
    .flatMap((file) => findMachineTraces(readFileSync(file, 'utf8')).map((it) => `${file}: ${it}`))
  expect(found).toEqual([])
})

test.each([
  ['/ho' + 'me/someone/hone/app.ts', 1],
  ['/Us' + 'ers/someone/hone', 1],
  ['https://registry.np' + 'mjs.org/zod', 1],
  ['C:\\Us' + 'ers\\someone', 1],
  ['app/main/host.ts and /tmp', 0],
])('a planted trace is seen: %s', (text, count) => {
  expect(findMachineTraces(text)).toHaveLength(count)
})

test('worker entries have at most 60 lines and doors at most 40', () => {
  const tooLong = keptFiles().flatMap((file) => {
    const limit = file.endsWith('.worker.ts') ? 60 : /^app\/.*\/index\.ts$/.test(file) ? 40 : null
    if (limit === null) return []
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length
    return lines > limit ? [`${file}: ${lines} lines, at most ${limit}`] : []
  })
  expect(tooLong).toEqual([])
})

test('no kept file is larger than 2 MB', () => {
  const large = keptFiles().filter((file) => readFileSync(file).length > 2e6)
  expect(large).toEqual([])
})

test('every link in the documents leads to a file', () => {
  const documents = keptFiles().filter((file) => file.endsWith('.md'))
  const broken = documents.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)\)/g)]
      .map((match) => join(dirname(file), match[1] ?? ''))
      .filter((target) => !existsSync(target))
      .map((target) => `${file}: ${target}`),
  )
  expect(documents.length).toBeGreaterThan(5)
  expect(broken).toEqual([])
})

test('a decision fits on a page, the table of packages excepted', () => {
  const tooLong = keptFiles()
    .filter((file) => file.startsWith('docs/decisions/') && !file.includes('dependencies'))
    .filter((file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > 40)
  expect(tooLong).toEqual([])
})

test('each package has its owner and reason in the list of dependencies', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>
    devDependencies: Record<string, string>
  }
  const list = readFileSync('docs/decisions/0005-dependencies.md', 'utf8')
  const all = { ...dependencies, ...devDependencies }
  const unexplained = Object.keys(all).filter(
    (name) => !new RegExp(`^\\| ${name} +\\|`, 'm').test(list),
  )
  expect(unexplained).toEqual([])
  expect(Object.values(all).filter((version) => !/^\d/.test(version))).toEqual([])
})
