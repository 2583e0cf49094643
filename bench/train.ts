// `npm run bench -- train`: the same LoRA training step by PyTorch + PEFT and by Hone, side by side.
import { availableParallelism } from 'node:os'
import { AppError } from '../app/shared/errors.ts'
import { progress, runOwn, type Bench, type BenchOptions, type BenchResult } from './bench.ts'
import { layerProducts, stepOperations } from './flops.ts'
import { bestRates, ggmlType, layerRate, measureSetting, peerTypes } from './gemm.ts'
import { modelInfoOf } from './model-info.ts'
import { openPeer, runPeer, type Peer } from './peer.ts'
import { parseReport, stepReport, type ProductReport, type StepReport } from './report-line.ts'
import { summarise, takeTurns, type Case, type Outcome, type Summary } from './rounds.ts'
import { rank, type StepOptions } from './step.ts'
import { trainCase, trainText, type Program, type SizeResult } from './train-report.ts'

const defaultTokens = [256, 512, 1024]

/** Tokens of the products whose rate is the measure of the steps'. */
const productTokens = 512

/**
 * Both programs must compute the same: largest relative differences of loss and gradient norm. In f32 3e-5 was seen;
 * autocast's rounding moves the norm of these random tokens by 4e-2.
 */
const agreement = { f32: { loss: 1e-4, norm: 2e-3 }, bf16: { loss: 5e-3, norm: 0.1 } } as const

interface Size {
  readonly modelPath: string
  readonly threads: number
  readonly tokens: number
  readonly steps: number
}

export async function measureOwn(options: StepOptions): Promise<StepReport> {
  return parseReport(await runOwn('step-case.ts', options), stepReport)
}

function ownCase(size: Size, precision: 'f32' | 'native'): Case {
  const step = { response: size.tokens / 2, samples: 1, together: true, precision }
  return {
    name: precision === 'f32' ? 'honeF32' : 'honeNative',
    optional: false,
    measure: () => measureOwn({ ...size, ...step }),
  }
}

function peerCase({ python }: Peer & { kind: 'ready' }, size: Size, mode: 'f32' | 'bf16'): Case {
  const { modelPath, tokens, threads, steps } = size
  const flags = { tokens, response: tokens / 2, threads, steps, rank, mode }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  return {
    name: mode === 'f32' ? 'torchF32' : 'torchBf16',
    optional: true,
    measure: async () =>
      parseReport(await runPeer(python, ['train', modelPath, ...args]), stepReport),
  }
}

function casesOf(size: Size, peer: Peer): (Case & { name: Program })[] {
  const peers =
    peer.kind === 'skipped' ? [] : [peerCase(peer, size, 'f32'), peerCase(peer, size, 'bf16')]
  const cases = [...peers, ownCase(size, 'f32'), ownCase(size, 'native')]
  return cases as (Case & { name: Program })[]
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { modelPath, rounds, steps } = options
  const info = modelInfoOf(modelPath)
  const threads = options.threads?.[0] ?? Math.min(2, availableParallelism())
  const peer = await openPeer(options.python)
  if (peer.kind === 'skipped') progress(`no PyTorch: ${peer.reason}`)
  const shapes = layerProducts(info)
  const setting = { shapes, tokens: productTokens, threads, matrices: info.layers, usedOnly: true }
  const products: ProductReport[] = []
  const results: SizeResult[] = []
  let kernels: Pick<StepReport, 'kernels' | 'kernelsReason'> = {}
  for (const tokens of options.tokens ?? defaultTokens) {
    progress(`products of ${productTokens} tokens`)
    products.push(await measureSetting(setting, peer))
    const cases = casesOf({ modelPath, threads, tokens, steps }, peer)
    const outcomes = await takeTurns(cases, rounds, (text) => progress(`T ${tokens}, ${text}`))
    const size = { tokens, response: tokens / 2, rank }
    const programs = summaries(outcomes, tokens)
    checkSameWork(tokens, programs)
    kernels = lastReport(outcomes.honeNative) ?? kernels
    const operations = stepOperations(info, size).total
    results.push({ tokens, threads, operations, programs, peersSkipped: reasonOf(peer, outcomes) })
  }
  const rates = bestRates(products)
  const rate = (type: string | null): number | null =>
    type === null ? null : layerRate(rates, shapes, type)
  const productRates = {
    torchF32: rate(peerTypes.f32),
    torchBf16: rate(peerTypes.bf16),
    honeF32: rate(ggmlType),
    honeNative: rate(kernels.kernels ?? ggmlType),
  }
  const report = { results, productRates, kernels: kernels.kernels ?? null, rounds, steps }
  return {
    json: { productRates, cases: results.map((one) => trainCase(one, report)) },
    text: trainText({ ...report, kernelsReason: kernels.kernelsReason ?? null }),
    charts: {},
    kernels: report.kernels,
    libraries: peer.kind === 'ready' ? peer.versions : {},
  }
}

function lastReport(outcome: Outcome): StepReport | undefined {
  return outcome.kind === 'measured' ? outcome.reports.at(-1) : undefined
}

function summaries(
  outcomes: Record<Program, Outcome>,
  tokens: number,
): Record<Program, Summary | null> {
  const of = (name: Program): Summary | null => {
    const outcome: Outcome | undefined = outcomes[name]
    return outcome === undefined ? null : summarise(outcome, tokens)
  }
  return {
    ...{ torchF32: of('torchF32'), torchBf16: of('torchBf16') },
    ...{ honeF32: of('honeF32'), honeNative: of('honeNative') },
  }
}

function reasonOf(peer: Peer, outcomes: Record<Program, Outcome>): string | null {
  if (peer.kind === 'skipped') return peer.reason
  const failed = [outcomes.torchF32, outcomes.torchBf16].find(({ kind }) => kind === 'skipped')
  return failed?.kind === 'skipped' ? failed.reason : null
}

/** A ratio of two programs that do different work would mean nothing. */
export function checkSameWork(tokens: number, programs: Record<Program, Summary | null>): void {
  const reference = programs.honeF32
  if (reference === null) return
  for (const [name, bound] of [
    ['torchF32', agreement.f32],
    ['torchBf16', agreement.bf16],
    ['honeNative', agreement.bf16],
  ] as const) {
    const found = programs[name]
    if (found === null) continue
    const loss = Math.abs(found.loss / reference.loss - 1)
    const norm = Math.abs(found.gradientNorm / reference.gradientNorm - 1)
    if (loss <= bound.loss && norm <= bound.norm) continue
    const message =
      `at T = ${tokens} ${name} computed loss ${found.loss} and gradient norm ${found.gradientNorm}, ` +
      `honeF32 ${reference.loss} and ${reference.gradientNorm}`
    throw new AppError('internal', message)
  }
}

export const train: Bench = {
  line: 'training steps beside PyTorch + PEFT',
  run,
}
