// `npm run size`: how large the code is, by folder, and the files beyond the sizes we aim for.
import { readdirSync, readFileSync, statSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const warnLines = 350
const folders = [
  'app/shared',
  'app/main',
  'app/renderer',
  'scripts',
  'eval',
  'bench',
  'native',
  'test',
]
const source = /\.(ts|tsx|c|h|py)$/
const test = /\.test\.tsx?$/

interface SourceFile {
  readonly path: string
  readonly lines: number
}

function listFiles(folder: string): SourceFile[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && source.test(entry.name) && !/\.gen\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function sum(files: readonly SourceFile[]): number {
  return files.reduce((total, file) => total + file.lines, 0)
}

console.log('folder'.padEnd(14), 'files'.padStart(7), 'lines'.padStart(8), 'median'.padStart(8))
const all = folders.flatMap((folder) => {
  const files = listFiles(folder)
  const code = files.filter((file) => !test.test(file.path))
  const middle = median(code.map((file) => file.lines))
  const cells = [String(code.length).padStart(7), String(sum(code)).padStart(8)]
  console.log(folder.padEnd(14), ...cells, String(middle).padStart(8))
  return files
})
const tests = all.filter((file) => test.test(file.path))
console.log('tests'.padEnd(14), String(tests.length).padStart(7), String(sum(tests)).padStart(8))

const built = 'out/renderer/assets'
if (existsSync(built)) {
  const sizeBytes = readdirSync(built).reduce(
    (total, it) => total + statSync(join(built, it)).size,
    0,
  )
  console.log(`interface: ${(sizeBytes / 1e6).toFixed(2)} MB built`)
}
for (const { path, lines } of all.filter((file) => file.lines > warnLines)) {
  console.log(`${path}: ${lines} lines, ${warnLines} are the aim`)
}
