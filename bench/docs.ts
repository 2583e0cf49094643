// The measured part of docs/performance.md. Text between two markers is a bench's own; what stands outside is kept.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../app/shared/errors.ts'
import type { BenchResult } from './bench.ts'
import type { Machine } from './machine.ts'

/** Puts `content` between the markers of `name`, which must be in the document. */
export function replaceBlock(document: string, name: string, content: string): string {
  const [start, end] = [`<!-- measured: ${name} -->`, `<!-- end: ${name} -->`]
  const [from, to] = [document.indexOf(start), document.indexOf(end)]
  if (from < 0 || to < from) {
    throw new AppError('corrupt', `expected ${start} and then ${end} in the document`)
  }
  return `${document.slice(0, from + start.length)}\n\n${content}\n\n${document.slice(to)}`
}

export function writeDocs(
  file: string,
  at: { readonly name: string; readonly machine: Machine; readonly result: BenchResult },
): void {
  const { name, machine, result } = at
  const document = replaceBlock(
    readFileSync(file, 'utf8'),
    name,
    [result.text, `Machine: ${describe(machine)}.`].join('\n\n'),
  )
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, document)
  for (const [chart, svg] of Object.entries(result.charts)) writeFileSync(join(folder, chart), svg)
}

function describe(machine: Machine): string {
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`
  const kernels = machine.kernels === null ? [] : [`kernels ${machine.kernels}`]
  const versions = Object.entries(machine.libraries).map(([name, version]) => `${name} ${version}`)
  const parts = [
    `${machine.cpu}, ${machine.cores} cores, ${memory}`,
    machine.platform,
    ...kernels,
    `Node ${machine.node}`,
    ...versions,
  ]
  return parts.join(', ')
}
