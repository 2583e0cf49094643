// `npm run bench -- gemm`: rates of the matrix products that training consists of, by who computes them.
import { progress, runOwn, type Bench, type BenchOptions, type BenchResult } from './bench.ts'
import { layerProducts, type ProductShape } from './flops.ts'
import { modelInfoOf } from './model-info.ts'
import { openPeer, runPeer, type Peer } from './peer.ts'
import { parseReport, productReport, type ProductReport } from './report-line.ts'
import { cell, missing, table, type Column } from './table.ts'

/** At least 20 runs in all: 24 in each process. */
const runs = 24
const productsPerRun = 5
const defaultTokens = 512

export const peerTypes = { f32: 'PyTorch f32', bf16: 'PyTorch bf16' } as const
export const ggmlType = 'ggml f32'

export interface ProductSetting {
  readonly shapes: readonly ProductShape[]
  readonly tokens: number
  readonly threads: number
  /** As many as a model has layers. */
  readonly matrices: number
  readonly usedOnly: boolean
}

/** One process of ours and one of the peer's. */
export async function measureSetting(
  { shapes, usedOnly, ...size }: ProductSetting,
  peer: Peer,
): Promise<ProductReport> {
  const own = await runOwn('gemm-case.ts', {
    ...{ ...size, usedOnly, runs, products: productsPerRun },
    shapes: distinct(shapes),
  })
  const ours = parseReport(own, productReport)
  if (peer.kind === 'skipped') return ours
  const sizes = { ...size, runs, products: productsPerRun }
  const flags = Object.entries(sizes).flatMap(([name, value]) => [`--${name}`, String(value)])
  const names = distinct(shapes).map((shape) => shape.join('x'))
  const theirs = parseReport(
    await runPeer(peer.python, ['gemm', ...names, ...flags]),
    productReport,
  )
  return { rates: [...ours.rates, ...theirs.rates], skipped: ours.skipped }
}

function distinct(shapes: readonly ProductShape[]): [number, number][] {
  const byName = new Map(shapes.map(({ rows, columns }) => [`${rows}x${columns}`, [rows, columns]]))
  return [...byName.values()] as [number, number][]
}

/** The best rate of each shape and type over several reports, in the order of the first. */
export function bestRates(reports: readonly ProductReport[]): ProductReport['rates'] {
  const best = new Map<string, ProductReport['rates'][number]>()
  for (const rate of reports.flatMap(({ rates }) => rates)) {
    const key = `${rate.type} ${rate.shape.join('x')}`
    if ((best.get(key)?.gflops ?? 0) < rate.gflops) best.set(key, rate)
  }
  return [...best.values()]
}

/** GFLOP/s over all products of a layer's step, each done once; null where one was not measured. */
export function layerRate(
  rates: ProductReport['rates'],
  shapes: readonly ProductShape[],
  type: string,
): number | null {
  let [operations, time] = [0, 0]
  for (const shape of shapes) {
    const gflops = rateOf(rates, shape, type)
    if (gflops === null) return null
    operations += shape.rows * shape.columns
    time += (shape.rows * shape.columns) / gflops
  }
  return operations / time
}

function rateOf(
  rates: ProductReport['rates'],
  { rows, columns }: ProductShape,
  type: string,
): number | null {
  const found = rates.find(
    (rate) => rate.type === type && rate.shape[0] === rows && rate.shape[1] === columns,
  )
  return found?.gflops ?? null
}

interface ThreadRates {
  readonly threads: number
  readonly rates: ProductReport['rates']
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const info = modelInfoOf(options.modelPath)
  const peer = await openPeer(options.python)
  const shapes = layerProducts(info)
  const tokens = options.tokens?.[0] ?? defaultTokens
  const threadCounts = options.threads ?? [1, 2]
  const reports = new Map<number, ProductReport[]>(threadCounts.map((threads) => [threads, []]))
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [threads, found] of reports) {
      progress(`round ${round} of ${options.rounds}, ${threads} threads`)
      const setting = { shapes, tokens, threads, matrices: info.layers, usedOnly: false }
      found.push(await measureSetting(setting, peer))
    }
  }
  const measured = [...reports].map(([threads, found]) => ({ threads, rates: bestRates(found) }))
  const skipped = [...reports.values()][0]?.[0]?.skipped ?? []
  return {
    json: {
      tokens,
      cases: measured.flatMap((one) => casesOf(one, shapes)),
      skipped,
      ...skip(peer),
    },
    text: textOf({ measured, shapes, tokens, skipped, peer, layers: info.layers }),
    charts: {},
    kernels: null,
    libraries: peer.kind === 'ready' ? peer.versions : {},
  }
}

function skip(peer: Peer): { peersSkipped?: string } {
  return peer.kind === 'skipped' ? { peersSkipped: peer.reason } : {}
}

/** Rounds both factors to 16 bits or fewer, so that its peer is PyTorch's bf16. */
function peerOf(type: string): string {
  return /bf16|q8_0/i.test(type) ? peerTypes.bf16 : peerTypes.f32
}

function casesOf({ threads, rates }: ThreadRates, shapes: readonly ProductShape[]) {
  const types = [...new Set(rates.map(({ type }) => type))]
  return types.flatMap((type) =>
    [...shapes, null].map((shape) => {
      const rate = (of: string): number | null =>
        shape === null ? layerRate(rates, shapes, of) : rateOf(rates, shape, of)
      const [value, peer] = [rate(type), rate(peerOf(type))]
      const what = shape === null ? 'whole layer' : `${shape.name} ${shape.rows}x${shape.columns}`
      const ratio = value === null || peer === null ? null : value / peer
      const name = `${type}, ${what}, ${threads} threads`
      return { name, value, unit: 'GFLOP/s', peer, ratio }
    }),
  )
}

interface Row {
  readonly type: string
  readonly threads: number
  readonly rates: ProductReport['rates']
}

function textOf(at: {
  readonly measured: readonly ThreadRates[]
  readonly shapes: readonly ProductShape[]
  readonly tokens: number
  readonly layers: number
  readonly skipped: ProductReport['skipped']
  readonly peer: Peer
}): string {
  const { measured, shapes } = at
  const rows: Row[] = measured.flatMap(({ threads, rates }) =>
    [...new Set(rates.map(({ type }) => type))].map((type) => ({ type, threads, rates })),
  )
  const ratio = ({ rates, type }: Row, peer: string): string => {
    const [own, other] = [layerRate(rates, shapes, type), layerRate(rates, shapes, peer)]
    return own === null || other === null ? missing : cell(own / other, 2)
  }
  // The output projection and its dx have one shape.
  const shown = shapes.filter(
    (shape, index) =>
      shapes.findIndex((it) => it.rows === shape.rows && it.columns === shape.columns) === index,
  )
  const columns: Column<Row>[] = [
    { title: 'threads', align: 'right', cell: ({ threads }) => String(threads) },
    { title: 'product', align: 'left', cell: ({ type }) => type },
    ...shown.map((shape): Column<Row> => ({
      title: `${shape.rows}×${shape.columns}`,
      align: 'right',
      cell: ({ rates, type }) => cell(rateOf(rates, shape, type)),
    })),
    {
      title: 'whole layer',
      align: 'right',
      cell: ({ rates, type }) => cell(layerRate(rates, shapes, type)),
    },
    { title: '× PyTorch f32', align: 'right', cell: (row) => ratio(row, peerTypes.f32) },
    { title: '× PyTorch bf16', align: 'right', cell: (row) => ratio(row, peerTypes.bf16) },
  ]
  const notes = [
    ...at.skipped.map(({ type, reason }) => `${type} is missing: ${reason}.`),
    ...(at.peer.kind === 'skipped' ? [`PyTorch is missing: ${at.peer.reason}.`] : []),
  ]
  const head = `GFLOP/s of W x with W of the given rows × columns and ${at.tokens} tokens, ${at.layers} matrices in turn.`
  return [head, '', table(rows, columns), ...notes.flatMap((note) => ['', note])].join('\n')
}

export const gemm: Bench = {
  line: 'matrix products: our kernels, ggml, PyTorch',
  run,
}
