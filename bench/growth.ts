// `npm run bench -- growth`: how speed and memory of a training step grow with the length of a sample, with the
// number of samples in a step, and with the model.
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { isAppError } from '../app/shared/errors.ts'
import { progress, type Bench, type BenchOptions, type BenchResult } from './bench.ts'
import { drawChart } from './chart.ts'
import { stepOperations } from './flops.ts'
import { growthPanels, growthText, type GrowthPoint } from './growth-report.ts'
import { modelInfoOf } from './model-info.ts'
import { summarise, takeTurns, type Case } from './rounds.ts'
import { rank, type StepOptions } from './step.ts'
import { measureOwn } from './train.ts'

const defaultTokens = [256, 512, 1024, 2048, 4096]

/** Samples as short as chats give them. */
const sampleTokens = 128
const sampleCounts = [1, 2, 4, 8]

interface Subject {
  readonly model: string
  readonly modelPath: string
}

type Setting = Pick<StepOptions, 'tokens' | 'samples' | 'together'> & Subject

async function run(options: BenchOptions): Promise<BenchResult> {
  const first: Subject = { model: nameOf(options.modelPath), modelPath: options.modelPath }
  const second = openSecond(options.secondModelPath)
  const subjects = [first, ...(second.kind === 'ready' ? [second.subject] : [])]
  const lengths = options.tokens ?? defaultTokens
  const byLength = subjects.flatMap((subject) =>
    lengths.map((tokens): Setting => ({ ...subject, tokens, samples: 1, together: true })),
  )
  const bySamples = [true, false].flatMap((together) =>
    sampleCounts.map((samples): Setting => ({ ...first, tokens: sampleTokens, samples, together })),
  )
  const threads = options.threads?.[0] ?? Math.min(2, availableParallelism())
  const report = {
    threads,
    byLength: await measureAll(byLength, options, threads),
    bySamples: await measureAll(bySamples, options, threads),
    secondSkipped: second.kind === 'skipped' ? second.reason : null,
  }
  const title = 'Speed and memory of training by length of a sample and samples in a step'
  return {
    json: { cases: [...report.byLength, ...report.bySamples], secondSkipped: report.secondSkipped },
    text: growthText(report),
    charts: { 'performance-growth.svg': drawChart(title, growthPanels(report)) },
    kernels: report.byLength[0]?.kernels ?? null,
    libraries: {},
  }
}

type Second =
  | { readonly kind: 'ready'; readonly subject: Subject }
  | { readonly kind: 'skipped'; readonly reason: string }

function openSecond(modelPath: string | null): Second {
  if (modelPath === null) return { kind: 'skipped', reason: '--second-model was not given' }
  try {
    modelInfoOf(modelPath)
    return { kind: 'ready', subject: { model: nameOf(modelPath), modelPath } }
  } catch (error) {
    // A file that is missing or broken is the caller's mistake, not a limit of the engine.
    if (!isAppError(error) || error.code !== 'unsupported') throw error
    return { kind: 'skipped', reason: error.message }
  }
}

/** In rounds over all settings, each in a fresh process. */
async function measureAll(
  settings: readonly Setting[],
  { rounds, steps }: BenchOptions,
  threads: number,
): Promise<GrowthPoint[]> {
  const kernels = new Map<Setting, string | null>()
  const cases = settings.map((setting): Case => {
    const { modelPath, tokens, samples, together } = setting
    return {
      name: labelOf(setting),
      optional: false,
      async measure() {
        const report = await measureOwn({
          ...{ modelPath, tokens, samples, together, threads, steps },
          ...{ response: tokens / 2, precision: 'native' },
        })
        kernels.set(setting, report.kernels ?? null)
        return report
      },
    }
  })
  const outcomes = await takeTurns(cases, rounds, progress)
  return settings.map((setting) => {
    const { model, modelPath, tokens, samples, together } = setting
    const outcome = outcomes[labelOf(setting)]
    const summary = outcome === undefined ? null : summarise(outcome, tokens * samples)
    if (summary === null) throw new Error(`${labelOf(setting)} was not measured`)
    const size = { tokens, response: tokens / 2, rank }
    const perToken = stepOperations(modelInfoOf(modelPath), size).total / tokens
    const gflops = (perToken * summary.tokensPerSecond) / 1e9
    return {
      ...{ model, tokens, samples, together, threads, kernels: kernels.get(setting) ?? null },
      ...{ ...summary, gflops },
    }
  })
}

/** One for each setting: outcomes are found by it. */
function labelOf({ model, tokens, samples, together }: Setting): string {
  return `${model}, ${samples} × ${tokens} tokens ${together ? 'together' : 'one at a time'}`
}

function nameOf(modelPath: string): string {
  return basename(modelPath).replace(/\.gguf$/i, '')
}

export const growth: Bench = {
  line: 'training by length, samples and model',
  run,
}
