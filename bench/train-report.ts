// The result of the training bench as JSON and as a table.
import type { Summary } from './rounds.ts'
import { cell, mebibytes, missing, table, type Column } from './table.ts'

export type Program = 'torchF32' | 'torchBf16' | 'honeF32' | 'honeNative'

export interface SizeResult {
  /** T. */
  readonly tokens: number
  readonly threads: number
  /** Floating-point operations of a step. */
  readonly operations: number
  readonly programs: Readonly<Record<Program, Summary | null>>
  readonly peersSkipped: string | null
}

export interface TrainReport {
  readonly results: readonly SizeResult[]
  /** GFLOP/s of the matrix products that each program uses, over a layer. */
  readonly productRates: Readonly<Record<Program, number | null>>
  readonly kernels: string | null
  readonly rounds: number
  readonly steps: number
}

function gflops({ tokens, operations }: SizeResult, summary: Summary): number {
  return ((operations / tokens) * summary.tokensPerSecond) / 1e9
}

type Value = (summary: Summary) => number

/** Of one program to another; null where one of them is missing. */
function quotient(result: SizeResult, [own, peer]: readonly [Program, Program], value: Value) {
  const [left, right] = [result.programs[own], result.programs[peer]]
  return left === null || right === null ? null : value(left) / value(right)
}

const speed: Value = ({ tokensPerSecond }) => tokensPerSecond
const middleSpeed: Value = ({ medianTokensPerSecond }) => medianTokensPerSecond
const memory: Value = ({ peakBytes }) => peakBytes

/** The agreed form, with what each program reached beside it. */
export function trainCase(result: SizeResult, { productRates }: TrainReport) {
  const figures = (program: Program) => {
    const summary = result.programs[program]
    if (summary === null) return null
    const [reached, product] = [gflops(result, summary), productRates[program]]
    return { ...summary, gflops: reached, ofProducts: product === null ? null : reached / product }
  }
  const ratios = (own: Program, value: Value) => ({
    torchF32: quotient(result, [own, 'torchF32'], value),
    torchBf16: quotient(result, [own, 'torchBf16'], value),
  })
  return {
    T: result.tokens,
    response: result.tokens / 2,
    threads: result.threads,
    ours: figures('honeNative'),
    oursPortable: figures('honeF32'),
    peers: { torchF32: figures('torchF32'), torchBf16: figures('torchBf16') },
    ratio: ratios('honeNative', speed),
    medianRatio: ratios('honeNative', middleSpeed),
    memoryRatio: ratios('honeNative', memory),
    portable: {
      ratio: ratios('honeF32', speed),
      medianRatio: ratios('honeF32', middleSpeed),
      memoryRatio: ratios('honeF32', memory),
    },
    ...(result.peersSkipped === null ? {} : { peersSkipped: result.peersSkipped }),
  }
}

interface Row {
  readonly result: SizeResult
  readonly program: Program
  readonly title: string
}

export function trainText(report: TrainReport & { readonly kernelsReason: string | null }): string {
  const { results, kernels, rounds, steps } = report
  const titles: Record<Program, string> = {
    torchF32: 'PyTorch + PEFT, f32',
    torchBf16: 'PyTorch + PEFT, bf16 autocast',
    honeF32: 'Hone, f32 on ggml',
    honeNative: `Hone, own kernels (${kernels ?? 'none'})`,
  }
  const rows = results.flatMap((result) =>
    (Object.keys(titles) as Program[]).map((program) => {
      return { result, program, title: titles[program] }
    }),
  )
  const threads = results[0]?.threads ?? 0
  const notes = [
    `${threads} threads, response of half the tokens, LoRA of rank 16 on the seven projections; ` +
      `${steps} steps in each of ${rounds} fresh processes.`,
    ...(kernels === null && report.kernelsReason !== null
      ? [`No own kernels: ${report.kernelsReason}.`]
      : []),
    ...results
      .filter(({ peersSkipped }) => peersSkipped !== null)
      .map(({ tokens, peersSkipped }) => `T ${tokens}, PyTorch is missing: ${peersSkipped}.`),
  ]
  return [table(rows, trainColumns(report)), ...notes].join('\n\n')
}

function trainColumns({ productRates }: TrainReport): Column<Row>[] {
  const ofProgram = ({ result, program }: Row, value: Value): number | null => {
    const summary = result.programs[program]
    return summary === null ? null : value(summary)
  }
  const ratio = (title: string, peer: Program, value: Value): Column<Row> => ({
    title,
    align: 'right',
    cell: ({ result, program }) => cell(quotient(result, [program, peer], value), 2),
  })
  const share = (row: Row): string => {
    const [summary, rate] = [row.result.programs[row.program], productRates[row.program]]
    if (summary === null || rate === null) return missing
    return `${cell((100 * gflops(row.result, summary)) / rate)} %`
  }
  return [
    { title: 'T', align: 'right', cell: ({ result }) => String(result.tokens) },
    { title: 'program', align: 'left', cell: ({ title }) => title },
    { title: 'tokens/s', align: 'right', cell: (row) => cell(ofProgram(row, speed)) },
    { title: 'median', align: 'right', cell: (row) => cell(ofProgram(row, middleSpeed)) },
    ratio('× f32', 'torchF32', speed),
    ratio('× bf16', 'torchBf16', speed),
    {
      title: 'GFLOP/s',
      align: 'right',
      cell: (row) => cell(ofProgram(row, (summary) => gflops(row.result, summary))),
    },
    { title: 'of products', align: 'right', cell: share },
    { title: 'peak MiB', align: 'right', cell: (row) => mebibytes(ofProgram(row, memory)) },
    ratio('peak × f32', 'torchF32', memory),
    ratio('peak × bf16', 'torchBf16', memory),
  ]
}
