// The cases whose results PyTorch worked out: test/fixtures/numerics/op-reference.json, written by
// make_op_reference.py beside it from what write-cases.ts gives out.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { operatorNames, type OperatorName } from '../../../app/main/engine/ffi/index.ts'
import { decodeFloats } from '../numerics.ts'
import type { KernelCase } from './bench.ts'
import { kernelCases } from './cases.ts'
import { needed } from './needed.ts'
import type { Numbers } from './plain.ts'

const head = ['C 33, V 250, R 7, temperature 0.8, M 3', 'C 24, V 1000, R 97, temperature 1.3, M 5']
const gatedUnits = [
  'F 7, T 3, silu up to 5',
  'F 7, T 3, gelu up to 5',
  'F 48, T 10, silu up to 200',
]

/** Names of cases, small ones: all results together take a quarter of a megabyte. */
const chosen: Readonly<Record<OperatorName, readonly string[]>> = {
  product: [
    'n 7, k 3, T 2, second 1, bias',
    'n 17, k 33, T 31, second 5, residual, strided',
    'transposed, n 75, k 97, T 20',
  ],
  outer: ['m 33, n 7, T 301, strided'],
  norm: ['[7, 3], residual', '[33, 65], residual, x, residual'],
  norm_back: ['[7, 3]', '[33, 65], residual, x, dy, residual', '[20, 3, 5], in place'],
  rotate: [
    'D 20, H 6, K 2, T 33, pairs, x',
    'D 64, H 9, K 3, T 7, halves, norms',
    'D 64, H 9, K 3, T 7, pairs, norms, inverse',
    'D 2, H 1, K 1, T 1, halves, inverse',
  ],
  gated: gatedUnits,
  gated_back: gatedUnits,
  attention: ['D 20, H 2, K 1, T 33', 'D 8, H 4, K 2, T 29, prefix and window'],
  attention_back: ['D 20, H 2, K 1, T 33', 'D 8, H 4, K 2, T 29, prefix and window'],
  head_stats: head.map((name) => `${name}, topK 4`),
  head_back: head,
  head_kl: [...head, 'C 33, V 250, R 7, temperature 0.8, M 0, valuesOnly true'],
  sum_slices: ['n 5, R 3, 16 slices', 'n 33, R 65, 16 slices'],
}

/** Throws where a name belongs to no case. */
export const casesToRecord: readonly KernelCase[] = operatorNames.flatMap((operator) =>
  chosen[operator].map((name) => {
    const found = kernelCases[operator].find((test) => test.name === name)
    if (found === undefined) throw new Error(`${operator} has no case named ${name}`)
    return found
  }),
)

/** Of all that a result follows from: sizes, parameters and every number. */
export function hashOf({ operator, parameters, inputs, matrices, values }: KernelCase): string {
  const hash = createHash('sha256').update(JSON.stringify([operator, parameters, inputs, matrices]))
  for (const name of Object.keys(values).sort()) {
    const { buffer, byteOffset, byteLength } = needed(values[name])
    hash.update(name).update(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return hash.digest('hex').slice(0, 24)
}

export interface RecordedCase {
  readonly hash: string
  readonly results: Readonly<Record<string, Numbers>>
}

interface RecordedFile {
  readonly cases: readonly {
    readonly operator: string
    readonly name: string
    readonly hash: string
    readonly results: Readonly<Record<string, string>>
  }[]
}

const file = path.resolve(import.meta.dirname, '../../fixtures/numerics/op-reference.json')
const known = JSON.parse(readFileSync(file, 'utf8')) as RecordedFile

/** What PyTorch found for a case. Throws where it was not recorded. */
export function recordedOf({ operator, name }: KernelCase): RecordedCase {
  const found = known.cases.find((one) => one.operator === operator && one.name === name)
  if (found === undefined) throw new Error(`${operator}, ${name} was not recorded`)
  const results = Object.entries(found.results).map(
    ([output, text]) => [output, decodeFloats(text)] as const,
  )
  return { hash: found.hash, results: Object.fromEntries(results) }
}
