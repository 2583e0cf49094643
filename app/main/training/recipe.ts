// One training run, read top to bottom: choose samples, guard, score student and teachers, update, write.
// Loss and numbers as DESIGN 7; the forward and backward passes are the engine's, the losses stand in losses/.
// It decides nothing about when to train or whether the result goes live.
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import type { Exchange, RunReport, StepReport } from '../../shared/domain/training.ts'
import { defaultTrainingConfig } from '../../shared/domain/training.ts'
import type { AdamW, Adapter, AdapterGradients, EngineModel, YieldPoint } from '../engine/index.ts'
import { gradientNorm } from '../engine/index.ts'
import { selectBatch } from './batch.ts'
import { guardSamples } from './guard.ts'
import { sampleLoss } from './losses/sample.ts'
import { pickIndices, randomAt } from './random.ts'
import type { PreparedItem } from './targets.ts'
import { prepareItem } from './targets.ts'

export interface Run {
  readonly model: EngineModel
  readonly request: TrainRequest
  /** The active adapter; its numbers are changed in place. */
  readonly adapter: Adapter
  /** Bound to `adapter`. */
  readonly optimiser: AdamW
  readonly adapterOfVersion: (version: number) => Promise<Adapter | null | 'missing'>
  /** The base's final hidden states at the reply positions, [R, C]. */
  readonly baseHidden: (exchange: Exchange, yieldPoint: YieldPoint) => Promise<Float32Array>
  /** Puts the adapter and the optimiser state on disk. */
  readonly write: () => Promise<void>
  readonly emit: (event: TrainEvent) => void
  /** Rejects with `cancelled` when the run is to be given up. */
  readonly yieldPoint: YieldPoint
}

/** A gradient this many times the usual one is a broken batch, not a lesson. */
const explosionFactor = 100

/** Demonstrations kept out of the updates to see when further passes stop helping, and how many it takes. */
const setAsideCount = 2
const setAsideFrom = 6

export async function runRecipe(run: Run): Promise<RunReport> {
  const { model, adapter, optimiser, yieldPoint, emit } = run
  const { config } = run.request
  const startedAt = performance.now()
  const steps: StepReport[] = []
  let tokens = 0
  const { vocabulary } = model.info
  const batch = selectBatch({ ...run.request, vocabulary, limit: sequenceLimit(run) })
  const excluded = [...batch.excluded]
  const report = (kind: RunReport['kind'], reason: string | null): RunReport => ({
    kind,
    reason,
    steps,
    usedSampleIds: kind === 'trained' ? training.map(({ item }) => item.sample.id) : [],
    excluded,
    seconds: (performance.now() - startedAt) / 1000,
    tokens,
    seed: config.seed,
    config,
  })
  let training: PreparedItem[] = []
  if (batch.items.length === 0) return report('no-signal', 'no sample carries a signal to train on')

  // Does the server still run the numbers that we train?
  emit({ kind: 'phase', phase: 'guard' })
  const guard = await guardSamples({ ...run, items: batch.items })
  tokens += guard.tokens
  excluded.push(...guard.refused)
  if (guard.accepted.length === 0) {
    return report('refused', guard.refused[0]?.reason ?? 'the guard refused every sample')
  }

  // Student and teachers before the first update: ℓ_old, supports, chosen hints.
  emit({ kind: 'phase', phase: 'teacher' })
  const prepared: PreparedItem[] = []
  for (const [index, item] of guard.accepted.entries()) {
    const random = randomAt(config.seed, index)
    const trusted = guard.trusted.has(item)
    const next = await prepareItem(item, { ...run, config, random, trusted })
    tokens += next.scoredTokens
    prepared.push(next)
    if (next.overlap !== null) emit({ kind: 'overlap', overlap: next.overlap })
  }

  // Which demonstrations tell when to stop.
  const heldOut = chooseHeldOut(prepared, run)
  training = prepared.filter((entry) => !heldOut.includes(entry))
  const setAside = 'set aside to see when further passes stop helping'
  const aside = { reason: setAside, isSetAside: true }
  excluded.push(...heldOut.map(({ item }) => ({ sampleId: item.sample.id, ...aside })))
  const demonstrations = training.filter(({ item }) => item.demo)
  const masses = prepared.flatMap(({ outsideMass }) => (outsideMass === null ? [] : [outsideMass]))
  const extraPasses = demonstrations.length > 0 ? config.demonstrationPasses : 0
  const plannedSteps = config.passes + extraPasses
  const gradients = model.createGradients(adapter)
  let bestHeldOut = Infinity

  emit({ kind: 'phase', phase: 'updating' })
  for (let step = 0; step < plannedSteps; step++) {
    if (heldOut.length > 0 && step >= config.passes) {
      const loss = await heldOutLoss(heldOut, run)
      tokens += tokensOf(heldOut)
      if (!(loss < bestHeldOut)) break
      bestHeldOut = loss
    }
    const stepStartedAt = performance.now()
    const entries = step < config.passes ? training : demonstrations
    numbersOf(gradients).forEach((values) => values.fill(0))
    const parts = {
      rl: [] as number[],
      opd: [] as number[],
      demo: [] as number[],
      anchor: [] as number[],
    }
    let loss = 0

    const settings = lossSettings(config, entries.length)
    const results = await backwardOf(entries, { run, settings, gradients })
    for (const result of results) {
      loss += result.loss
      if (result.stats.rl !== null) parts.rl.push(result.stats.rl)
      if (result.stats.opd !== null) parts.opd.push(result.stats.opd)
      if (result.stats.demo !== null) parts.demo.push(result.stats.demo)
    }

    // The anchors follow the optimiser's count, so that a resumed run draws the same ones.
    const anchoring = anchorSettings(config, training)
    const chosen = chooseAnchors(run, { count: anchoring.count, updates: optimiser.steps })
    for (const exchange of chosen) {
      const weight = anchoring.weight / chosen.length
      const sequence = exchangeTokens(exchange)
      const baseHidden = await run.baseHidden(exchange, yieldPoint)
      const { kl } = await model.klBackward({
        ...sequence,
        temperature: 1,
        adapter,
        baseHidden,
        weight,
        gradients,
        yieldPoint,
      })
      loss += weight * kl
      parts.anchor.push(kl)
    }

    const norm = gradientNorm(numbersOf(gradients))
    const usual = run.request.medianGradientNorm ?? median(steps.map((done) => done.gradientNorm))
    const refusal = refuseStep({ loss, norm, usual })
    if (refusal !== null) return report('refused', `step ${step + 1}: ${refusal}`)
    const learningRate = scheduledRate(config, step / plannedSteps)
    optimiser.step(gradients, { learningRate, maxNorm: config.gradientClip })

    const stepTokens = tokensOf(entries) + chosen.reduce((sum, one) => sum + lengthOf(one), 0)
    tokens += stepTokens
    const done: StepReport = {
      step: step + 1,
      steps: plannedSteps,
      loss,
      lossRl: mean(parts.rl),
      lossOpd: mean(parts.opd),
      lossDemo: mean(parts.demo),
      lossAnchor: mean(parts.anchor),
      gradientNorm: norm,
      learningRate,
      logProbGap: guard.gap,
      outsideMass: step < config.passes ? mean(masses) : null,
      tokens: stepTokens,
      seconds: (performance.now() - stepStartedAt) / 1000,
    }
    steps.push(done)
    emit({ kind: 'step', step: done })
  }

  const isFinite = numbersOf(adapter).every((values) => values.every(Number.isFinite))
  if (!isFinite) return report('refused', 'the adapter is no longer finite')
  await yieldPoint()
  emit({ kind: 'phase', phase: 'writing' })
  await run.write()
  return report('trained', null)
}

/** Adds the gradients of all entries' losses; returns each loss with its parts. */
async function backwardOf(
  entries: readonly PreparedItem[],
  at: {
    readonly run: Run
    readonly settings: ReturnType<typeof lossSettings>
    readonly gradients: AdapterGradients
  },
) {
  const { run, settings, gradients } = at
  const { model, adapter, yieldPoint } = run
  const requests = entries.map(({ tokens, responseStart, targets, item }) => ({
    ...{ tokens, responseStart, temperature: item.temperature, adapter, gradients, yieldPoint },
    gatherIds: targets.gatherIds,
    loss: (logProbs: Float32Array) => sampleLoss(logProbs, targets, settings),
  }))
  const results = await model.backwardAll(requests)
  return entries.flatMap(({ targets }, index) => {
    const gathered = results[index]?.gathered
    return gathered === undefined ? [] : [sampleLoss(gathered, targets, settings)]
  })
}

/** a and b of every pair. */
function numbersOf({ tensors }: AdapterGradients): Float32Array[] {
  return tensors.flatMap(({ a, b }) => [a, b])
}

function lossSettings(config: TrainRequest['config'], samples: number) {
  const { weightRl, weightOpd, weightDemo, differenceClip } = config
  const clip = { low: config.clipLow, high: config.clipHigh }
  return { weightRl, weightOpd, weightDemo, differenceClip, clip, share: 1 / samples }
}

/** Constant from the first update, or half a cosine down to 0 over the planned steps; `done` in [0, 1). */
export function scheduledRate(config: TrainRequest['config'], done: number): number {
  const factor = config.schedule === 'cosine' ? (1 + Math.cos(Math.PI * done)) / 2 : 1
  return config.learningRate * factor
}

/** Why an update must not happen, or null. */
export function refuseStep(facts: {
  readonly loss: number
  readonly norm: number
  readonly usual: number | null
}): string | null {
  if (!Number.isFinite(facts.loss)) return `the loss is ${facts.loss}`
  if (!Number.isFinite(facts.norm)) return `the gradient norm is ${facts.norm}`
  if (facts.usual === null || facts.usual === 0) return null
  if (facts.norm <= explosionFactor * facts.usual) return null
  return `the gradient norm ${facts.norm.toPrecision(3)} is over ${explosionFactor} times the usual ${facts.usual.toPrecision(3)}`
}

function chooseHeldOut(prepared: readonly PreparedItem[], run: Run): PreparedItem[] {
  const demonstrations = prepared.filter(({ item }) => item.demo)
  const { seed, demonstrationPasses } = run.request.config
  if (demonstrationPasses === 0 || demonstrations.length < setAsideFrom) return []
  const picked = pickIndices(randomAt(seed, demonstrations.length), {
    length: demonstrations.length,
    count: setAsideCount,
  })
  return demonstrations.filter((_, index) => picked.includes(index))
}

async function heldOutLoss(heldOut: readonly PreparedItem[], run: Run): Promise<number> {
  const { model, adapter, yieldPoint } = run
  const requests = heldOut.map(({ tokens, responseStart }) => {
    return { tokens, responseStart, temperature: 1, adapter, yieldPoint }
  })
  const losses = (await model.scoreAll(requests)).map(
    ({ sampled }) => -sampled.reduce((sum, value) => sum + value, 0) / sampled.length,
  )
  return mean(losses) ?? Infinity
}

function sequenceLimit({ model, request }: Run): number {
  return Math.min(request.config.sequenceLimit, model.info.contextLength)
}

/** Nothing but negatives only says where not to go: such a batch is held to the base even where the anchor is off. */
export function anchorSettings(
  config: TrainRequest['config'],
  training: readonly Pick<PreparedItem, 'item'>[],
): { readonly count: number; readonly weight: number } {
  const { weightAnchor: weight, anchorsPerStep: count } = config
  if (weight > 0 && count > 0) return { count, weight }
  const onlyNegatives = training.every(({ item }) => item.sample.reward === -1)
  const { weightAnchor, anchorsPerStep } = defaultTrainingConfig
  return onlyNegatives ? { count: anchorsPerStep, weight: weightAnchor } : { count: 0, weight: 0 }
}

function chooseAnchors(
  run: Run,
  options: { readonly count: number; readonly updates: number },
): Exchange[] {
  const usable = run.request.anchors.filter(
    (one) =>
      one.promptIds.length > 0 && one.responseIds.length > 0 && lengthOf(one) <= sequenceLimit(run),
  )
  const random = randomAt(run.request.config.seed, options.updates)
  const picked = pickIndices(random, { length: usable.length, count: options.count })
  return usable.filter((_, index) => picked.includes(index))
}

/** Prompt and reply as one sequence. */
export function exchangeTokens(exchange: Exchange): {
  readonly tokens: Int32Array
  readonly responseStart: number
} {
  const tokens = Int32Array.from([...exchange.promptIds, ...exchange.responseIds])
  return { tokens, responseStart: exchange.promptIds.length }
}

function lengthOf(exchange: Exchange): number {
  return exchange.promptIds.length + exchange.responseIds.length
}

function tokensOf(entries: readonly PreparedItem[]): number {
  return entries.reduce((sum, entry) => sum + entry.tokens.length, 0)
}

function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((first, second) => first - second)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  const lower = sorted[sorted.length % 2 === 0 ? middle - 1 : middle]
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2
}
